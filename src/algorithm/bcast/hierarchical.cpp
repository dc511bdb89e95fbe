// Broadcast in two steps: along a binomial tree between nodes, then along one within each node. The
// data enters each node only once, at the root or the node's lowest rank. Any number of ranks and
// nodes, any root.
#include <algorithm>
#include <vector>

#include "algorithm/hierarchy.h"
#include "algorithm/trees.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed, in.root());
    const Region data = in.recv.block();
    OpId there = schedule.start();
    if (in.rank == at.leader_of(in.rank)) {
        const auto among_leaders = schedule.within(at.leaders);
        const Rank own = at.nodes.node_of(in.rank);
        there = bcast_along(binomial_tree(own, at.nodes.nodes(), at.nodes.node_of(in.root())), data,
                            there, schedule);
    }
    bcast_in_node(at, in.rank, data, there, schedule);
}

struct Cost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
};

Cost cost(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    std::vector<std::int64_t> arrival(static_cast<std::size_t>(nodes.nodes()));
    Cost cost;
    for (Rank distance = 0; distance < nodes.nodes(); ++distance) {
        const Rank node = around(nodes.node_of(a.root), distance, nodes.nodes());
        const Tree tree = binomial_tree(node, nodes.nodes(), nodes.node_of(a.root));
        std::int64_t round = arrival[static_cast<std::size_t>(node)];
        for (const Rank child : tree.children) arrival[static_cast<std::size_t>(child)] = ++round;
        const int within = ceil_log2(nodes.size(node));
        cost.rounds = std::max(cost.rounds, round + within);
        const auto sent = static_cast<std::int64_t>(tree.children.size()) + within;
        cost.messages_max = std::max(cost.messages_max, sent);
    }
    return cost;
}

}  // namespace

extern const Algorithm bcast_hierarchical = {
    .name = "hierarchical",
    .source = karonis_2000,
    .follows_topology = true,
    .rounds = [](const GlobalArgs& a) { return cost(a).rounds; },
    .sent_messages_max = [](const GlobalArgs& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * cost(a).messages_max; },
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.bytes * (Hierarchy(a).nodes.nodes() - 1); },
    .build = build,
};

}  // namespace weft::algorithm
