// What of a schedule is well left until somebody waits for the whole of it: few operations on small
// data that nothing has to be sent after.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// Larger messages are worth waking up for: taking them in needs time.
inline constexpr std::int64_t unattended_bytes_max = 4 * 1024;
// Nor are these left to a wait: they would fill what lies between the ranks.
inline constexpr std::int64_t unattended_bytes_of_all_max = 16 * 1024;
inline constexpr std::uint32_t unattended_ops_max = 32;

// By operation, those that are not left: what a send, or a list of tasks, still has to come after,
// and what takes time. Where there are repeats: everything.
std::vector<bool> find_urgent(const Schedule& schedule);

}  // namespace weft
