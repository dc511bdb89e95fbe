// The monotonic clock in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft {

inline std::int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// The cheapest clock, for rough comparisons: about 2,000 to 4,000 ticks per microsecond on x86; do
// not rely on it.
inline std::uint64_t ticks() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(now_ns()) * 3;
#endif
}

// Hints to the core that the program spins.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace weft
