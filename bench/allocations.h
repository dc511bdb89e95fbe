// Counts this process's memory allocations.
#pragma once

#include <cstdint>

namespace weft::bench {

// False where the C library's allocator cannot be stepped in front of (not glibc, or a sanitizer
// has done so already): the count then stays 0.
bool counts_allocations();

// Calls of malloc and its relatives so far, by all threads.
std::uint64_t allocations();

}  // namespace weft::bench
