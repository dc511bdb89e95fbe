// Counts this process's memory allocations.
#pragma once

#include <cstdint>

namespace weft::bench {

// False if a sanitizer has replaced them already:
// then the count stays 0.
bool counts_allocations();

// Calls of operator new so far, by all threads.
std::uint64_t allocations();

}  // namespace weft::bench
