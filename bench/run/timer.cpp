#include "bench/run/timer.h"

namespace weft::bench {

Stopwatch::Stopwatch(Timer timer) : timer_(timer) {
#if defined(__x86_64__)
    if (timer_ == Timer::cycles) {
        constexpr std::int64_t duration_ns = 20'000'000;
        const std::int64_t begin = now_ns();
        const std::uint64_t first = __rdtsc();
        std::int64_t end = begin;
        while (end - begin < duration_ns) end = now_ns();
        us_per_cycle_ =
            static_cast<double>(end - begin) / 1000 / static_cast<double>(__rdtsc() - first);
    }
#else
    timer_ = Timer::clock;
#endif
    constexpr int calls = 10'000;
    const std::int64_t begin = now_ns();
    double last = 0;
    for (int i = 0; i < calls; ++i) {
        last = us();
        asm volatile("" : : "g"(&last) : "memory");
    }
    cost_ns_ = static_cast<double>(now_ns() - begin) / calls;
}

}  // namespace weft::bench
