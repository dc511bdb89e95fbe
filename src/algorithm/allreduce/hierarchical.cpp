// Allreduce in three steps: a reduction to each node's leader, an allreduce among the leaders, by
// recursive doubling or another flat algorithm (`inner`), and a broadcast in each node. Any number
// of ranks and nodes. The operation has to commute, because a node's ranks need not be consecutive.
#include <algorithm>

#include "algorithm/algorithms.h"
#include "algorithm/hierarchy.h"
#include "algorithm/trees.h"
#include "shape/butterfly.h"

namespace weft::algorithm {

namespace {

Problem part_of_leader(const GlobalArgs& a, const Hierarchy& at, Rank node, const Layout& result) {
    Problem part;
    part.agreed = a;
    part.agreed.ranks = at.nodes.nodes();
    part.agreed.topology = nullptr;
    part.rank = node;
    part.in_place = true;
    part.send = part.recv = result;
    return part;
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    const Region result = in.recv.block();
    if (in.rank != at.leader_of(in.rank)) {
        const OpId read = reduce_in_node(at, in.rank, in.send.block(), result, schedule);
        bcast_in_node(at, in.rank, result, in.in_place ? read : no_op, schedule);
        return;
    }
    const OpId reduced = schedule.join({});  // see hierarchy.h
    {
        const Problem leader = part_of_leader(in.agreed, at, at.nodes.node_of(in.rank), in.recv);
        const auto among_leaders = schedule.within(at.leaders, reduced);
        inner_of(in.agreed, allreduce_recursive_doubling).build(leader, schedule);
    }
    schedule.order(reduce_in_node(at, in.rank, in.send.block(), result, schedule), reduced);
    bcast_in_node(at, in.rank, result, schedule.written(result), schedule);
}

struct AllreduceCost {
    std::int64_t messages_max = 0;
    std::int64_t bytes_max = 0;
    std::int64_t bytes_between_nodes = 0;
};

AllreduceCost cost(const GlobalArgs& a) {
    const Hierarchy at(a);
    const Algorithm& inner = inner_of(a, allreduce_recursive_doubling);
    AllreduceCost cost;
    for (Rank node = 0; node < at.nodes.nodes(); ++node) {
        const int within = ceil_log2(at.nodes.size(node));
        std::int64_t messages = within;
        std::int64_t bytes = within * a.bytes;
        const Problem leader = part_of_leader(a, at, node, {Buffer::recv, 1, 0, a.bytes});
        for_each_message(inner, leader, [&](Rank, std::int64_t sent) {
            ++messages;
            bytes += sent;
            cost.bytes_between_nodes += sent;
        });
        cost.messages_max = std::max(cost.messages_max, messages);
        cost.bytes_max = std::max(cost.bytes_max, bytes);
    }
    return cost;
}

// With recursive doubling, leaders fold into a power of two (shape/butterfly.h): the first ones
// form pairs. With other algorithms it is hard to tell which leader finishes last, unless all begin
// together.
std::int64_t rounds(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Algorithm& inner = inner_of(a, allreduce_recursive_doubling);
    const auto steps_within = [&](Rank node) { return std::int64_t{ceil_log2(nodes.size(node))}; };
    if (&inner != &allreduce_recursive_doubling) {
        GlobalArgs among_leaders = a;
        among_leaders.ranks = nodes.nodes();
        for (Rank node = 1; node < nodes.nodes(); ++node)
            if (steps_within(node) != steps_within(0)) return no_claim;
        return 2 * steps_within(0) + inner.rounds(among_leaders);
    }
    const Fold fold(nodes.nodes());
    std::int64_t ready = 0;  // when all standing leaders are ready to exchange
    for (Rank node = 0; node < nodes.nodes(); ++node)
        ready = std::max(ready, steps_within(node) + (fold.is_paired(node) ? 1 : 0));
    std::int64_t rounds = 0;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const int returning = fold.is_paired(node) ? 1 : 0;
        rounds =
            std::max(rounds, ready + floor_log2(nodes.nodes()) + returning + steps_within(node));
    }
    return rounds;
}

}  // namespace

extern const Algorithm allreduce_hierarchical = {
    .name = "hierarchical",
    .source = zhu_2009,
    .needs = {.commutative = true},
    .tunes = Tunes::inner,
    .follows_topology = true,
    .leaders = [](const GlobalArgs& a) { return Hierarchy(a).nodes.nodes(); },
    .rounds = rounds,
    .sent_messages_max = [](const GlobalArgs& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const GlobalArgs& a) { return cost(a).bytes_max; },
    .bytes_between_nodes = [](const GlobalArgs& a) { return cost(a).bytes_between_nodes; },
    .build = build,
};

}  // namespace weft::algorithm
