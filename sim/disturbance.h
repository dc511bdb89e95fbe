// What ranks of a simulation suffer: late starts, and noise that takes the CPU away. Both follow from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "sim/noise_trace.h"

namespace weft::simulate {

struct Disturbance {
    enum class Skew : std::uint8_t {
        none,
        normal,  // starts are distributed normally with the deviation skew_ps; the first is at 0
        exponential,  // exponentially, with the mean skew_ps
        late,         // one rank starts at skew_ps, all others at 0
    };
    Skew skew = Skew::none;
    std::int64_t skew_ps = 0;
    Rank late_rank = 0;

    // In every period a rank's CPU is taken away once, for `noise_ps`, from a point of the period that is
    // the rank's own, and up to `jitter_ps` later. REQUIRES: noise_ps + jitter_ps < period_ps.
    std::int64_t period_ps = 0;  // 0: no noise
    std::int64_t noise_ps = 0;
    std::int64_t jitter_ps = 0;

    // Instead: noise as it was measured, over and over, for each rank from a point of the trace that is its own.
    std::shared_ptr<const NoiseTrace> trace;

    bool has_noise_together = false;  // all ranks at the same times: from 0, without jitter

    std::uint64_t seed = 1;

    bool has_noise() const { return period_ps > 0 || trace; }
    bool exists() const { return skew != Skew::none || has_noise(); }

    // When each rank starts.
    std::vector<std::int64_t> starts_ps(Rank ranks) const;

    // When work of `rank` ends that begins at `begin_ps` and takes `cost_ps` of undisturbed CPU time. Work
    // that takes no time needs no CPU. REQUIRES: has_noise().
    std::int64_t end_ps(Rank rank, std::int64_t begin_ps, std::int64_t cost_ps) const;

  private:
    // When the first of its noises begins; of a trace, how much is over at 0.
    std::int64_t phase_ps(Rank rank, std::int64_t of_period_ps) const;
    // When a rank's noise number `k` begins.
    std::int64_t noise_begin_ps(Rank rank, std::int64_t first_ps, std::int64_t k) const;
};

}  // namespace weft::simulate
