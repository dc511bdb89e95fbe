// The fixed work and its calibration.
#include "bench/work.h"

#include <vector>

#include "base/clock.h"
#include "bench/statistics.h"

namespace weft::bench {

void work(std::int64_t iterations) {
    std::uint64_t x = 1;
    for (std::int64_t i = 0; i < iterations; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(x));  // keeps the compiler from folding several steps into one
    }
}

double calibrate_ns_per_iteration() {
    constexpr int runs = 9;
    constexpr std::int64_t iterations = 100'000;
    std::vector<double> samples;
    for (int i = 0; i < runs; ++i) {
        const std::int64_t begin = now_ns();
        work(iterations);
        samples.push_back(static_cast<double>(now_ns() - begin) / iterations);
    }
    return median(samples);
}

}  // namespace weft::bench
