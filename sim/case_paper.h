// Equations 1 to 6 of the paper that made the case for nonblocking collective operations: how long
// the usual algorithms take in LogGP, and which part of that is the CPU's. A message of m bytes
// takes 2o + L + mG there (elsewhere in Weft (m-1)G, as LogGP defines it).
//
// Torsten Hoefler, Jeffrey Squyres, Wolfgang Rehm, Andrew Lumsdaine: A Case for Non-Blocking
// Collective Operations, 2006
#pragma once

#include "base/status.h"
#include "model/loggp.h"
#include "shape/power.h"

namespace weft::model {

// `messages` of m bytes, one after the other, and the combination of `combined` times m bytes.
inline ModelTime paper_messages(const LogGpParameters& p, std::int64_t messages,
                                std::int64_t combined, std::int64_t bytes) {
    const std::int64_t cpu_ps = plus(times(messages, 2 * p.overhead_ps),
                                     times(combined, times(bytes, p.byte_reduction_ps)));
    const std::int64_t network_ps =
        times(messages, plus(p.latency_ps, times(bytes, p.byte_gap_ps)));
    return {plus(cpu_ps, network_ps), cpu_ps};
}

// Equations 1 and 4: dissemination.
inline ModelTime paper_barrier(const LogGpParameters& p, Rank ranks) {
    return paper_messages(p, ceil_log2(ranks), 0, 0);
}
// Equations 2 and 5: a binomial tree to the root, and another from there.
inline ModelTime paper_allreduce(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    return paper_messages(p, 2 * ceil_log2(ranks), ceil_log2(ranks), bytes);
}
// Equations 3 and 6: a binomial tree.
inline ModelTime paper_bcast(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    return paper_messages(p, ceil_log2(ranks), 0, bytes);
}

}  // namespace weft::model
