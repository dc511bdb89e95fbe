// Reduction in two steps: along a binomial tree in each node to its leader, then along one between
// the leaders, of which the root is one. The operation has to commute, because a node's ranks need
// not be consecutive, and because a leader combines operands in the order in which they get ready.
// Any number of ranks and nodes, any root.
#include <algorithm>
#include <functional>
#include <vector>

#include "algorithm/hierarchy.h"
#include "algorithm/trees.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// When the combined operand of each node's ranks, and of the nodes below it in the tree, is ready
// at its leader, which receives one message at a time.
std::vector<std::int64_t> ready_rounds(const Topology& nodes, Rank top) {
    std::vector<std::int64_t> ready(static_cast<std::size_t>(nodes.nodes()));
    for (Rank distance = nodes.nodes() - 1; distance >= 0; --distance) {
        const Rank node = around(top, distance, nodes.nodes());
        std::vector<std::int64_t> operands;
        for (const Rank child : binomial_tree(node, nodes.nodes(), top).children)
            operands.push_back(ready[static_cast<std::size_t>(child)]);
        std::ranges::sort(operands);
        std::int64_t& round = ready[static_cast<std::size_t>(node)];
        round = ceil_log2(nodes.size(node));
        for (const std::int64_t at : operands) round = std::max(round, at) + 1;
    }
    return ready;
}

// The tree among the leaders; the child that is ready last comes first.
Tree leaders_tree(const Topology& nodes, Rank node, Rank top) {
    Tree tree = binomial_tree(node, nodes.nodes(), top);
    const std::vector<std::int64_t> ready = ready_rounds(nodes, top);
    std::vector<Rank> order(tree.children.begin(), tree.children.end());
    std::ranges::stable_sort(order, std::greater(),
                             [&](Rank child) { return ready[static_cast<std::size_t>(child)]; });
    tree.children = {};
    for (const Rank child : order) tree.children.push_back(child);
    return tree;
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed, in.root());
    const Rank own = at.nodes.node_of(in.rank);
    const bool is_leader = in.rank == at.leader_of(in.rank);
    Region operand = in.send.block();
    OpId ready = schedule.start();
    if (at.nodes.size(own) > 1) {
        const bool has_sum = is_leader && !in.is_root();
        const Region sum = has_sum ? schedule.scratch(in.agreed.bytes) : in.recv.block();
        ready = reduce_in_node(at, in.rank, operand, sum, schedule);
        operand = sum;
    }
    if (!is_leader) return;
    const auto among_leaders = schedule.within(at.leaders, ready);
    const Rank top = at.nodes.node_of(in.root());
    reduce_along(leaders_tree(at.nodes, own, top), 1, operand, in.recv.block(), schedule);
}

std::int64_t rounds(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank top = nodes.node_of(a.root);
    return ready_rounds(nodes, top)[static_cast<std::size_t>(top)];
}

}  // namespace

extern const Algorithm reduce_hierarchical = {
    .name = "hierarchical",
    .source = karonis_2000,
    .needs = {.commutative = true},
    .follows_topology = true,
    .rounds = rounds,
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.bytes * (Hierarchy(a).nodes.nodes() - 1); },
    .build = build,
};

}  // namespace weft::algorithm
