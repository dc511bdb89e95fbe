// Broadcast in two steps: along a binomial tree between nodes, then along one within each node. A
// node's leader is the root, or its lowest rank. Any number of ranks and nodes, any root.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Topology topology_of(const Agreed& a) {
    return a.topology ? *a.topology
                      : Topology(std::vector<Rank>(static_cast<std::size_t>(a.ranks)));
}

Rank leader_of(const Topology& nodes, Rank node, Rank root) {
    return node == nodes.node_of(root) ? root : nodes.members(node).front();
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Topology nodes = topology_of(in.agreed);
    const Region data = in.recv.block();
    const Rank own = nodes.node_of(in.rank);
    const Rank leader = leader_of(nodes, own, in.root());
    OpId there = schedule.start();
    if (in.rank == leader) {
        std::vector<Rank> leaders;
        for (Rank node = 0; node < nodes.nodes(); ++node) {
            leaders.push_back(leader_of(nodes, node, in.root()));
        }
        const auto among_leaders = schedule.within(leaders);
        there = bcast_along(binomial_tree(own, nodes.nodes(), nodes.node_of(in.root())), data,
                            there, schedule);
    }
    const std::span<const Rank> members = nodes.members(own);
    const auto place = [&](Rank rank) {
        return static_cast<Rank>(std::ranges::lower_bound(members, rank) - members.begin());
    };
    const auto within_node = schedule.within(members);
    bcast_along(binomial_tree(place(in.rank), static_cast<Rank>(members.size()), place(leader)),
                data, there, schedule);
    return ok;
}

struct Cost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
};

Cost cost(const Agreed& a) {
    const Topology nodes = topology_of(a);
    std::vector<std::int64_t> arrival(static_cast<std::size_t>(nodes.nodes()));
    Cost cost;
    for (Rank distance = 0; distance < nodes.nodes(); ++distance) {
        const Rank node = around(nodes.node_of(a.root), distance, nodes.nodes());
        const Tree tree = binomial_tree(node, nodes.nodes(), nodes.node_of(a.root));
        std::int64_t round = arrival[static_cast<std::size_t>(node)];
        for (const Rank child : tree.children) arrival[static_cast<std::size_t>(child)] = ++round;
        const int within = ceil_log2(static_cast<Rank>(nodes.members(node).size()));
        cost.rounds = std::max(cost.rounds, round + within);
        const auto sent = static_cast<std::int64_t>(tree.children.size()) + within;
        cost.messages_max = std::max(cost.messages_max, sent);
    }
    return cost;
}

}  // namespace

extern const Algorithm bcast_hierarchical = {
    .name = "hierarchical",
    .source =
        "Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to Optimize Collective "
        "Operation Performance, 2000, doi:10.1109/IPDPS.2000.846009",
    .follows_topology = true,
    .rounds = [](const Agreed& a) { return cost(a).rounds; },
    .sent_messages_max = [](const Agreed& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * cost(a).messages_max; },
    .build = build,
};

}  // namespace weft::algorithm
