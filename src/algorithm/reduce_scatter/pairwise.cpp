// Reduce-scatter in steps: reduce_scatter_block's algorithm, for blocks that differ. In step i rank
// r sends block r + i to rank r + i and combines what arrives. Any number of ranks, also for
// operations that do not commute.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm reduce_scatter_block_pairwise;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return reduce_scatter_block_pairwise.build(in, schedule);
}

}  // namespace

extern const Algorithm reduce_scatter_pairwise = {
    .name = "pairwise",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes_of_others_max(); },
    .build = build,
};

}  // namespace weft::algorithm
