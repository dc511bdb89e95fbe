// What ranks of a simulation suffer: late starts, and noise that takes the CPU away. Both follow
// from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weft::simulate {

// Noise as it was measured: when the CPU was taken away, and for how long.
// Thread safety: immutable, share freely.
class NoiseTrace {
  public:
    // Of lines "begin duration", in ns with up to three decimals, in the order of time; what is
    // behind a # does not count. Refuses another text with a sentence that names the line.
    static Result<NoiseTrace> read(std::string_view text);

    // It begins again when its last noise is over.
    std::int64_t period_ps() const { return period_ps_; }

    // When work ends that begins at `begin_ps`, if the trace began `phase_ps` before 0.
    std::int64_t end_ps(std::int64_t phase_ps, std::int64_t begin_ps, std::int64_t cost_ps) const;

  private:
    struct Span {
        std::int64_t begin_ps;
        std::int64_t end_ps;
    };
    std::vector<Span> spans_;
    std::int64_t period_ps_ = 0;
    std::int64_t quiet_ps_ = 0;  // of a period
};

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

    // In every period a rank's CPU is taken away once, for `noise_ps`, from a point of the period
    // that is the rank's own, and up to `jitter_ps` later. REQUIRES: noise_ps + jitter_ps <
    // period_ps.
    std::int64_t period_ps = 0;  // 0: no noise
    std::int64_t noise_ps = 0;
    std::int64_t jitter_ps = 0;

    // Instead: noise as it was measured, over and over, for each rank from a point of the trace
    // that is its own.
    std::shared_ptr<const NoiseTrace> trace;

    bool has_noise_together = false;  // all ranks at the same times: from 0, without jitter

    std::uint64_t seed = 1;

    bool has_noise() const { return period_ps > 0 || trace; }
    bool exists() const { return skew != Skew::none || has_noise(); }

    // When each rank starts.
    std::vector<std::int64_t> starts_ps(Rank ranks) const;

    // When work of `rank` ends that begins at `begin_ps` and takes `cost_ps` of undisturbed CPU
    // time. Work that takes no time needs no CPU. REQUIRES: has_noise().
    std::int64_t end_ps(Rank rank, std::int64_t begin_ps, std::int64_t cost_ps) const;

  private:
    // When the first of its noises begins; of a trace, how much is over at 0.
    std::int64_t phase_ps(Rank rank, std::int64_t of_period_ps) const;
    // When a rank's noise number `k` begins.
    std::int64_t noise_begin_ps(Rank rank, std::int64_t first_ps, std::int64_t k) const;
};

}  // namespace weft::simulate
