// A schedule serialized to bytes that ranks can exchange. Only schedules without repeats.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

std::vector<std::byte> pack(const Schedule& schedule);
// Reads the schedule of `rank`; later `bytes` are ignored.
// Refuses bytes that are not a schedule, with a sentence.
Result<Schedule> unpack(std::span<const std::byte> bytes, Rank rank, Rank ranks);

}  // namespace weft
