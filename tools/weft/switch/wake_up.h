// How long this process takes to wake up, which changes with what else its core does: followed all
// the time, so that it can be compensated. Not thread safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

class WakeUp {
  public:
    static constexpr std::int64_t max_ns = 150'000;

    // About the median of the last times.
    std::int64_t ns() const { return ns_; }

    void note(std::int64_t taken_ns) {
        ns_ = std::clamp<std::int64_t>(ns_ + (taken_ns > ns_ ? step_ns : -step_ns), 0, max_ns);
    }

  private:
    static constexpr std::int64_t step_ns = 2000;
    std::int64_t ns_ = 30'000;
};

}  // namespace weft
