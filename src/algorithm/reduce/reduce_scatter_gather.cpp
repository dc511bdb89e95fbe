// Reduce in p - 1 steps and p - 1 messages to the root: the vector is cut into one block per rank. In
// step i rank r sends block r + i to rank r + i, which combines what it gets in rank order and sends the
// result to the root. Any number of ranks, any root, also for operations that do not commute; blocks
// hold whole elements and may be empty.
#include "algorithm/algorithm.h"
#include "algorithm/rank_order.h"
#include "algorithm/segments.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region operand = in.send.block();
    const Region into = in.recv.block();
    const Region mine = in.is_root()
                            ? part_of_rank(in.agreed, into, in.rank)
                            : schedule.scratch(part_of_rank(in.agreed, operand, in.rank).bytes);
    const Scattered first = reduce_scatter_in_rank_order(in, operand, mine, schedule);
    if (!in.is_root()) {
        schedule.send(mine, in.root(), {first.result, first.last_sent});
        return ok;
    }
    for (Rank from = 0; from < in.ranks(); ++from) {
        if (from == in.rank) continue;
        const OpId unread = in.in_place ? first.sent[static_cast<std::size_t>(from)] : no_op;
        schedule.recv(part_of_rank(in.agreed, into, from), from, {unread});
    }
    return ok;
}

}  // namespace

extern const Algorithm reduce_reduce_scatter_gather = {
    .name = "reduce_scatter_gather",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? a.ranks : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
