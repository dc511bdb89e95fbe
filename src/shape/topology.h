// Which ranks share a node, and so its memory; and which of them share a core.
//
// Thread safety: immutable, share freely.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"

namespace weft {

class Topology {
  public:
    // Ranks of one node have equal marks. Nodes are numbered by their lowest ranks. `cores`: by
    // rank, equal for ranks that stay on one core, also on emulated nodes that share it; or one of
    // the words below. Empty: nothing is known.
    explicit Topology(std::span<const Rank> marks, std::vector<Rank> cores = {});
    static constexpr Rank any_core = -1;      // of several
    static constexpr Rank unknown_core = -2;  // to some of the processes
    // The topology of some of the ranks, numbered by their index in `members`. Nothing is known of
    // cores if that of some member is unknown: all processes must find the same.
    Topology part(std::span<const Rank> members) const;

    // Each node divided into nearly equal parts, parts[node] of them, as nodes of their own.
    Topology divided(std::span<const Rank> parts) const;

    Rank ranks() const { return static_cast<Rank>(node_.size()); }
    Rank nodes() const { return static_cast<Rank>(begin_.size()) - 1; }
    Rank node_of(Rank rank) const { return node_[static_cast<std::size_t>(rank)]; }
    // A node's ranks, the lowest first.
    std::span<const Rank> members(Rank node) const {
        const auto n = static_cast<std::size_t>(node);
        return std::span(by_node_).subspan(begin_[n], begin_[n + 1] - begin_[n]);
    }
    Rank size(Rank node) const { return static_cast<Rank>(members(node).size()); }
    Rank size_max() const;
    // A rank's index among the members of its node.
    Rank place(Rank rank) const;
    // Equal for ranks that stay on the same core, or any_core.
    Rank core_of(Rank rank) const {
        return cores_.empty() ? any_core : cores_[static_cast<std::size_t>(rank)];
    }

  private:
    std::vector<Rank> node_;  // by rank
    std::vector<Rank> by_node_;
    std::vector<std::size_t> begin_;  // of each node in by_node_, and the end
    std::vector<Rank> cores_;         // by rank; empty: nothing is known
};

}  // namespace weft
