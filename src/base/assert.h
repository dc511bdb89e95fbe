// Assertions that are always on: a broken invariant is our own bug, and ends the process.
#pragma once

namespace weft {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace weft

#define WEFT_ASSERT(condition)                                        \
    do {                                                              \
        if (!(condition)) [[unlikely]]                                \
            ::weft::assertion_failed(#condition, __FILE__, __LINE__); \
    } while (0)
