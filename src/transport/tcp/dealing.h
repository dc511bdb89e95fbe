// How pairs of ranks are dealt over the links between their nodes, so that the messages of one
// collective use all links of a node: those to the left and to the right in a ring, or over several
// distances at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::tcp {

// A number of the pair, from which the link follows by a division with rest. Both ends say the same.
//
// Along a ring of nodes with steps of one distance, each step has the number after the one before it, so
// a node's two neighbours in a ring have different links. No rule does that and spreads all sets of
// distances at every node; this one spreads them best of those that were tried.
inline std::uint32_t turn_of_pair(std::uint32_t node, std::uint32_t other, std::uint32_t nodes) {
    const auto [low, high] = std::minmax(node, other);
    const std::uint32_t up = high - low;
    const std::uint32_t down = nodes - up;
    const std::uint32_t distance = std::min(up, down);
    if (distance == 0) return 0;
    const std::uint32_t start = up <= down ? low : high;
    return start / distance + distance * (distance + 1) / 2;
}

// Where a rank is: its node, and its number among the ranks of that node.
struct PlaceInJob {
    std::uint32_t node = 0;
    std::uint32_t number = 0;
};

// In a job of so many nodes.
inline std::uint32_t turn_of_pair(const PlaceInJob& a, const PlaceInJob& b, std::uint32_t nodes) {
    return turn_of_pair(a.node, b.node, nodes) + a.number + b.number;
}

// By rank: ranks with the same host, that of their first address, are on one node. All ranks must give the
// same hosts.
std::vector<PlaceInJob> places_in_job(std::span<const std::string> hosts);

}  // namespace weft::tcp
