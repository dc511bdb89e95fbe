// Allreduce in 2 (p - 1) steps: the vector is cut into one block per rank. In step i of the first half rank r sends
// block r + i to rank r + i, which combines what it gets in rank order; in step i of the second half it sends its
// result to rank r + i. Any number of ranks, also for operations that do not commute; blocks hold whole elements and
// may be empty.
#include "algorithm/algorithm.h"
#include "algorithm/rank_order.h"
#include "algorithm/segments.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region into = in.recv.block();
    const Region mine = part_of_rank(in.agreed, into, in.rank);
    const Scattered first = reduce_scatter_in_rank_order(in, in.send.block(), mine, schedule);
    OpId sent = first.last_sent;
    for (Rank step = 1; step < in.ranks(); ++step) {
        sent = schedule.send(mine, around(in.rank, step, in.ranks()), {first.result, sent});
        const Rank from = around(in.rank, -step, in.ranks());
        const OpId unread = in.in_place ? first.sent[static_cast<std::size_t>(from)] : no_op;
        schedule.recv(part_of_rank(in.agreed, into, from), from, {unread});
    }
    return ok;
}

// The first rank's block is the largest, and it sends its own most often.
std::int64_t sent_bytes(const Agreed& a) {
    if (a.ranks == 1) return 0;
    return a.bytes + (a.ranks - 2) * part_of_rank(a, {.bytes = a.bytes}, 0).bytes;
}

}  // namespace

extern const Algorithm allreduce_reduce_scatter_allgather = {
    .name = "reduce_scatter_allgather",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
