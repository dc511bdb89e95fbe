#include "sim/case_paper.h"

#include "shape/power.h"

namespace weft::model {
namespace {

// `messages` of m bytes, one after the other, and the combination of `combined` times m bytes.
ModelTime one_after_the_other(const LogGpParameters& p, std::int64_t messages,
                              std::int64_t combined, std::int64_t bytes) {
    const std::int64_t cpu_ps = plus(times(messages, 2 * p.overhead_ps),
                                     times(combined, times(bytes, p.byte_reduction_ps)));
    const std::int64_t network_ps =
        times(messages, plus(p.latency_ps, times(bytes, p.byte_gap_ps)));
    return {plus(cpu_ps, network_ps), cpu_ps};
}

}  // namespace

ModelTime paper_barrier(const LogGpParameters& p, Rank ranks) {
    return one_after_the_other(p, ceil_log2(ranks), 0, 0);
}

ModelTime paper_allreduce(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    return one_after_the_other(p, 2 * ceil_log2(ranks), ceil_log2(ranks), bytes);
}

ModelTime paper_bcast(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    return one_after_the_other(p, ceil_log2(ranks), 0, bytes);
}

}  // namespace weft::model
