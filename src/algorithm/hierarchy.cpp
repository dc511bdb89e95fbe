#include "algorithm/hierarchy.h"

#include "algorithm/trees.h"

namespace weft::algorithm {

Hierarchy::Hierarchy(const Agreed& a, Rank root)
    : nodes(a.topology ? *a.topology
                       : Topology(std::vector<Rank>(static_cast<std::size_t>(a.ranks)))) {
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        leaders.push_back(node == nodes.node_of(root) ? root : nodes.members(node).front());
    }
}

void bcast_in_node(const Hierarchy& in, Rank rank, Region data, OpId before,
                   ScheduleBuilder& schedule) {
    const Rank node = in.nodes.node_of(rank);
    const auto within_node = schedule.within(in.nodes.members(node));
    bcast_along(binomial_tree(in.nodes.place(rank), in.nodes.size(node),
                              in.nodes.place(in.leader_of(rank))),
                data, before, schedule);
}

}  // namespace weft::algorithm
