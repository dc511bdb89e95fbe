#include "shape/topology.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "shape/blocks.h"

namespace weft {

Topology::Topology(std::span<const Rank> marks, std::vector<Rank> cores)
    : by_node_(marks.size()), cores_(std::move(cores)) {
    WEFT_ASSERT(cores_.empty() || cores_.size() == marks.size());
    node_.reserve(marks.size());
    std::map<Rank, Rank> numbers;
    for (std::size_t rank = 0; rank < marks.size(); ++rank) {
        if (rank > 0 && marks[rank] == marks[rank - 1]) {  // most often; saves looking it up
            node_.push_back(node_.back());
        } else {
            const auto next = static_cast<Rank>(numbers.size());
            node_.push_back(numbers.try_emplace(marks[rank], next).first->second);
        }
    }
    // First, one place further on, how many ranks each node has; then where the next of them goes.
    begin_.assign(numbers.size() + 2, 0);
    for (const Rank node : node_) ++begin_[static_cast<std::size_t>(node) + 2];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    for (Rank rank = 0; rank < ranks(); ++rank)
        by_node_[begin_[static_cast<std::size_t>(node_of(rank)) + 1]++] = rank;
    begin_.pop_back();
}

Topology Topology::part(std::span<const Rank> members) const {
    std::vector<Rank> marks;
    std::vector<Rank> cores;
    for (const Rank rank : members) marks.push_back(node_of(rank));
    if (!cores_.empty())
        for (const Rank rank : members) cores.push_back(core_of(rank));
    if (std::ranges::find(cores, unknown_core) != cores.end()) cores.clear();
    return Topology(marks, std::move(cores));
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
    return Topology(marks, cores_);
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
