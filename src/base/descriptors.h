// How many file descriptors this process can still open.
#pragma once

#include <cstddef>

namespace weft {

// The soft limit RLIMIT_NOFILE.
std::size_t descriptors_max();
// How many of them are free. Of a large limit, looks only at the first few thousand.
std::size_t descriptors_left();

// Shares when descriptors are few: of task lists, a part of the limit; of the engine, a number.
inline constexpr std::size_t part_for_task_lists = 4;
inline constexpr std::size_t descriptors_of_engine = 3;

}  // namespace weft
