// Counts this process's memory allocations.
#pragma once

#include <cstdint>

namespace weft::bench {

// False if the C library's allocator cannot be wrapped (not glibc, or a sanitizer has already
// wrapped it): then the count stays 0.
bool counts_allocations();

// Calls of malloc and its relatives so far, by all threads.
std::uint64_t allocations();

}  // namespace weft::bench
