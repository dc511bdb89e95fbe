// The clock that measures: clock_gettime, or the cycle counter, calibrated by it.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "bench/scenario/cell.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace weft::bench {

class Stopwatch {
  public:
    explicit Stopwatch(Timer timer);

    // Microseconds, from any beginning. With the clock, the same on all ranks of a machine.
    double us() const {
#if defined(__x86_64__)
        if (timer_ == Timer::cycles) return static_cast<double>(__rdtsc()) * us_per_cycle_;
#endif
        return static_cast<double>(now_ns()) / 1000;
    }
    // What one call costs.
    double cost_ns() const { return cost_ns_; }

  private:
    Timer timer_;
    double us_per_cycle_ = 0;
    double cost_ns_ = 0;
};

}  // namespace weft::bench
