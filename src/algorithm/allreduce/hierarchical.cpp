// Allreduce in three steps: a reduction to each node's leader, an allreduce among the leaders by
// recursive doubling, and a broadcast in each node. Any number of ranks and nodes. The operation
// has to commute, because a node's ranks need not be consecutive.
#include <algorithm>

#include "algorithm/hierarchy.h"
#include "algorithm/trees.h"
#include "shape/fold.h"

namespace weft::algorithm {

extern const Algorithm allreduce_recursive_doubling;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    const Region result = in.recv.block();
    if (in.rank != at.leader_of(in.rank)) {
        const OpId read = reduce_in_node(at, in.rank, in.send.block(), result, schedule);
        bcast_in_node(at, in.rank, result, in.in_place ? read : no_op, schedule);
        return ok;
    }
    const OpId reduced = schedule.join({});  // see hierarchy.h
    {
        Problem leader = in;
        leader.agreed.ranks = at.nodes.nodes();
        leader.agreed.topology = nullptr;
        leader.rank = at.nodes.node_of(in.rank);
        leader.in_place = true;
        leader.send = in.recv;
        const auto among_leaders = schedule.within(at.leaders, reduced);
        WEFT_RETURN_IF_NOT_OK(allreduce_recursive_doubling.build(leader, schedule));
    }
    schedule.order(reduce_in_node(at, in.rank, in.send.block(), result, schedule), reduced);
    bcast_in_node(at, in.rank, result, schedule.written(result), schedule);
    return ok;
}

// Leaders fold into a power of two (shape/fold.h): the first ones form pairs.
struct AllreduceCost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
};

AllreduceCost cost(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Fold fold(nodes.nodes());
    const int exchanges = floor_log2(nodes.nodes());
    const auto steps_within = [&](Rank node) { return ceil_log2(nodes.size(node)); };
    std::int64_t ready = 0;  // all leaders that stand, to exchange
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const int folding = fold.is_paired(node) ? 1 : 0;
        ready = std::max<std::int64_t>(ready, steps_within(node) + folding);
    }
    AllreduceCost cost;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const int returning = fold.is_paired(node) ? 1 : 0;
        const int within = steps_within(node);
        cost.rounds = std::max(cost.rounds, ready + exchanges + returning + within);
        const int sent = (fold.number_of(node) ? exchanges : 0) + returning + within;
        cost.messages_max = std::max<std::int64_t>(cost.messages_max, sent);
    }
    return cost;
}

}  // namespace

extern const Algorithm allreduce_hierarchical = {
    .name = "hierarchical",
    .source =
        "Zhu, Goodell, Gropp, Thakur: Hierarchical Collectives in MPICH2, 2009, "
        "doi:10.1007/978-3-642-03770-2_41",
    .needs = {.commutative = true},
    .follows_topology = true,
    .rounds = [](const Agreed& a) { return cost(a).rounds; },
    .sent_messages_max = [](const Agreed& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * cost(a).messages_max; },
    .bytes_between_nodes =
        [](const Agreed& a) {
            const Rank nodes = Hierarchy(a).nodes.nodes();
            const Fold fold(nodes);
            return a.bytes * (fold.standing * floor_log2(nodes) + 2 * fold.extra);
        },
    .build = build,
};

}  // namespace weft::algorithm
