// A schedule as bytes, for ranks that tell each other theirs. Of schedules without repeats.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

std::vector<std::byte> pack(const Schedule& schedule);
// The schedule of `rank`; what lies behind it in `bytes` is not looked at.
// Refuses bytes that are no schedule, with a sentence.
Result<Schedule> unpack(std::span<const std::byte> bytes, Rank rank, Rank ranks);

}  // namespace weft
