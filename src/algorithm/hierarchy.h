// What algorithms in two levels share: steps within the nodes, and between their leaders.
#pragma once

#include <vector>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

// The nodes of a call, and a leader for each: the root if it is there, otherwise the lowest rank.
struct Hierarchy {
    explicit Hierarchy(const Agreed& agreed, Rank root = 0);

    Topology nodes;
    std::vector<Rank> leaders;  // by node

    Rank leader_of(Rank rank) const {
        return leaders[static_cast<std::size_t>(nodes.node_of(rank))];
    }
};

// Passes `data` from the leader of a rank's node to the node's other ranks, as bcast_along does.
void bcast_in_node(const Hierarchy& in, Rank rank, Region data, OpId before,
                   ScheduleBuilder& schedule);

}  // namespace weft::algorithm
