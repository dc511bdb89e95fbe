// Noise as it was measured: when the CPU was taken away, and for how long.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weft::simulate {

// Thread safety: immutable, share freely.
class NoiseTrace {
  public:
    // Of lines "begin duration", in ns with up to three decimals, in the order of time; what is behind a # does not
    // count. Refuses another text with a sentence that names the line.
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

}  // namespace weft::simulate
