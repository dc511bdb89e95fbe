// How many file descriptors this process can still open.
#pragma once

#include <cstddef>

namespace weft {

// The soft limit RLIMIT_NOFILE.
std::size_t descriptors_max();
// How many of them are free for the library (base/fd.h). If the limit is large, looks only at the
// first few thousand.
std::size_t descriptors_left();

// Shares when descriptors are scarce: task lists get 1 / part_for_task_lists of the limit, the
// engine a fixed number.
inline constexpr std::size_t part_for_task_lists = 4;
inline constexpr std::size_t descriptors_of_engine = 3;

}  // namespace weft
