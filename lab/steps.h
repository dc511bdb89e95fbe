// What a schedule does, as a number to compare with those of other ranks and algorithms.
#pragma once

#include <cstdint>

#include "schedule/schedule.h"

namespace weft {

// Equal for schedules with the same operations in the same order, each after the same others. Not counted are joins,
// the order of receives from different ranks, and whether a block that is carried out once is written as a repeat.
std::uint64_t steps_hash(const Schedule& schedule);

}  // namespace weft
