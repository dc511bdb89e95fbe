// Allreduce as a reduction to rank 0 and a broadcast from there, along one binomial tree. More
// rounds than recursive doubling, but fewer messages: ranks - 1 each way. Any number of ranks, also
// for operations that do not commute.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Tree tree = binomial_tree(in.rank, in.ranks(), 0);
    const OpId reduced = reduce_along(tree, 1, in.send.block(), in.recv.block(), schedule);
    const bool must_wait = !tree.parent || in.in_place;
    bcast_along(tree, in.recv.block(), must_wait ? reduced : schedule.start(), schedule);
    return ok;
}

}  // namespace

extern const Algorithm allreduce_reduce_bcast = {
    .name = "reduce_bcast",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
