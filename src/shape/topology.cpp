#include "shape/topology.h"

#include <algorithm>
#include <map>

#include "shape/blocks.h"

namespace weft {

Topology::Topology(std::span<const Rank> marks) : begin_(1) {
    std::map<Rank, Rank> numbers;
    std::vector<std::vector<Rank>> members;
    for (const Rank mark : marks) {
        const auto [number, is_new] = numbers.emplace(mark, static_cast<Rank>(members.size()));
        if (is_new) members.emplace_back();
        members[static_cast<std::size_t>(number->second)].push_back(ranks());
        node_.push_back(number->second);
    }
    for (const std::vector<Rank>& node : members) {
        by_node_.insert(by_node_.end(), node.begin(), node.end());
        begin_.push_back(by_node_.size());
    }
}

Topology Topology::part(std::span<const Rank> members) const {
    std::vector<Rank> marks;
    for (const Rank rank : members) marks.push_back(node_of(rank));
    return Topology(marks);
}

Topology Topology::divided(std::span<const Rank> parts) const {
    std::vector<Rank> marks(static_cast<std::size_t>(ranks()));
    for (Rank node = 0; node < nodes(); ++node) {
        const Rank number = parts[static_cast<std::size_t>(node)];
        for (Rank i = 0; i < number; ++i) {
            const Block part = block_of(size(node), number, i);
            const std::span<const Rank> there = members(node).subspan(
                static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
            for (const Rank rank : there) marks[static_cast<std::size_t>(rank)] = there.front();
        }
    }
    return Topology(marks);
}

Rank Topology::size_max() const {
    Rank most = 0;
    for (Rank node = 0; node < nodes(); ++node) most = std::max(most, size(node));
    return most;
}

Rank Topology::place(Rank rank) const {
    const std::span<const Rank> there = members(node_of(rank));
    return static_cast<Rank>(std::ranges::lower_bound(there, rank) - there.begin());
}

}  // namespace weft
