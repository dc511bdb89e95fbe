#include "algorithm/hierarchy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "algorithm/trees.h"

namespace weft::algorithm {
namespace {

// Among the ranks of a rank's node, by their places.
Tree tree_in_node(const Hierarchy& in, Rank rank) {
    return binomial_tree(in.nodes.place(rank), in.nodes.size(in.nodes.node_of(rank)),
                         in.nodes.place(in.leader_of(rank)));
}

}  // namespace

Hierarchy::Hierarchy(const GlobalArgs& a, Rank root)
    : Hierarchy(
          a.topology ? *a.topology : Topology(std::vector<Rank>(static_cast<std::size_t>(a.ranks))),
          root) {}

Hierarchy::Hierarchy(Topology of, Rank root) : nodes(std::move(of)) {
    std::map<Rank, Rank> led;  // how many leaders a core has
    const auto leads = [&](Rank rank) {
        const Rank core = nodes.core_of(rank);
        if (core != Topology::any_core) ++led[core];
    };
    const auto others = [&](Rank rank) {
        const auto found = led.find(nodes.core_of(rank));
        return found == led.end() ? 0 : found->second;
    };
    leads(root);
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const bool has_root = node == nodes.node_of(root);
        leaders.push_back(has_root ? root : std::ranges::min(nodes.members(node), {}, others));
        if (!has_root) leads(leaders.back());
    }
}

void bcast_in_node(const Hierarchy& in, Rank rank, Region data, OpId before,
                   ScheduleBuilder& schedule) {
    const auto within_node = schedule.within(in.nodes.members(in.nodes.node_of(rank)));
    bcast_along(tree_in_node(in, rank), data, before, schedule);
}

OpId reduce_in_node(const Hierarchy& in, Rank rank, Region from, Region into,
                    ScheduleBuilder& schedule) {
    const auto within_node = schedule.within(in.nodes.members(in.nodes.node_of(rank)));
    return reduce_along(tree_in_node(in, rank), 1, from, into, schedule);
}

std::int64_t bytes_beyond_the_root(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return a.bytes * (a.ranks - nodes.size(nodes.node_of(a.root)));
}

}  // namespace weft::algorithm
