// How many file descriptors this process can still have.
#pragma once

#include <cstddef>

namespace weft {

// RLIMIT_NOFILE, the soft one.
std::size_t descriptors_max();
// What is left of it now. Of a large limit only the first few thousand are looked at.
std::size_t descriptors_left();

// Who takes how many, where there are few: task lists this part of all; the engine so many itself.
inline constexpr std::size_t part_for_task_lists = 4;
inline constexpr std::size_t descriptors_of_engine = 3;

}  // namespace weft
