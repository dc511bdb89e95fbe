// Broadcast in two steps: along a binomial tree between nodes, then along one within each node. The
// data enters each node only once, at the root or the node's leader; from 128 KiB on it is passed
// on in segments of 64 KiB. Any number of ranks and nodes, any root.
#include <algorithm>
#include <vector>

#include "algorithm/hierarchy.h"
#include "algorithm/segments.h"
#include "algorithm/trees.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

constexpr Tuning segments = {.segment_bytes = 64 * 1024};
constexpr std::uint32_t window = 32;  // as in chain.cpp

// So that the step within a node does not begin only when all data is there.
bool is_cut(const GlobalArgs& a, const Topology& nodes) {
    return nodes.nodes() > 1 && nodes.size_max() > 1 && a.bytes >= 2 * segments.segment_bytes;
}

void bcast(const Problem& in, const Hierarchy& at, Region data, ScheduleBuilder& schedule) {
    OpId there = schedule.start();
    if (in.rank == at.leader_of(in.rank)) {
        const auto among_leaders = schedule.within(at.leaders);
        const Rank own = at.nodes.node_of(in.rank);
        there = bcast_along(binomial_tree(own, at.nodes.nodes(), at.nodes.node_of(in.root())), data,
                            there, schedule);
    }
    bcast_in_node(at, in.rank, data, there, schedule);
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const GlobalArgs& a = in.agreed;
    const Hierarchy at(a, in.root());
    if (!is_cut(a, at.nodes)) return bcast(in, at, in.recv.block(), schedule);
    const std::int64_t bytes = segment_bytes(a.bytes, a.element_bytes, segments);
    schedule.repeat_begin({.total_bytes = a.bytes, .block_bytes = bytes, .window = window});
    bcast(in, at, in.recv.block().part(0, bytes), schedule);
    schedule.repeat_end();
}

struct Cost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
    std::int64_t bytes_max = 0;
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
    cost.bytes_max = a.bytes * cost.messages_max;
    if (is_cut(a, nodes)) {
        const std::int64_t bytes = segment_bytes(a.bytes, a.element_bytes, segments);
        cost.messages_max *= (a.bytes + bytes - 1) / bytes;
        cost.rounds = no_claim;
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
    .sent_bytes_max = [](const GlobalArgs& a) { return cost(a).bytes_max; },
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.bytes * (Hierarchy(a).nodes.nodes() - 1); },
    .build = build,
};

}  // namespace weft::algorithm
