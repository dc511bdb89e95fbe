// Trees over the ranks: each rank's parent, and its children in the order of sending.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/status.h"

namespace weft {

// A few ranks, without allocation. In a binomial tree over 2^31 ranks, a rank has at most 31.
class Children {
  public:
    void push_back(Rank rank) {
        WEFT_ASSERT(size_ < ranks_.size());
        ranks_[size_++] = rank;
    }
    const Rank* begin() const { return ranks_.data(); }
    const Rank* end() const { return ranks_.data() + size_; }
    std::size_t size() const { return size_; }

  private:
    std::array<Rank, 32> ranks_;
    std::size_t size_ = 0;
};

// Counted from the root, a subtree is consecutive ranks: its own rank, at `distance`, and those
// behind it.
struct Tree {
    std::optional<Rank> parent;  // none: the root
    Children children;
    Rank distance = 0;
    Rank subtree = 1;  // number of ranks in it
};

// The parent of the rank at distance v from the root is at v without its lowest set bit. The
// farthest child has the largest subtree and comes first, so that a broadcast takes
// ceil(log2 ranks) rounds.
Tree binomial_tree(Rank rank, Rank ranks, Rank root);

// The parent of the rank at distance v from the root is at v without its highest set bit. The nearest
// child comes first: a broadcast takes ceil(log2 ranks) rounds, too. Subtrees are not consecutive.
Tree doubling_tree(Rank rank, Rank ranks, Rank root);

// A subtree is halved between two children; the nearer one gets the odd rank. The farther one comes
// first.
Tree binary_tree(Rank rank, Rank ranks, Rank root);

// From the root to the next rank, and on around the ring up to the rank before the root.
Tree chain_tree(Rank rank, Rank ranks, Rank root);

}  // namespace weft
