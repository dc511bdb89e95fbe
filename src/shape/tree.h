// Trees over the ranks: who hears from whom, children in the order in which they are to be told.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/status.h"

namespace weft {

// A few ranks, without allocation. A binomial tree over 2^31 ranks has 31 children at most.
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

// Counted from the root on, a rank's subtree are consecutive ranks: the rank itself at `distance`
// and those behind it.
struct Tree {
    std::optional<Rank> parent;  // none: the root
    Children children;
    Rank distance = 0;
    Rank subtree = 1;  // ranks in it
};

// The rank at distance v from the root has the parent at v without its lowest set bit. The child
// farthest away has the largest subtree and comes first, so that all are told within
// ceil(log2 ranks) messages.
Tree binomial_tree(Rank rank, Rank ranks, Rank root);

// A rank's subtree is halved between two children, the nearer one getting the odd rank. The farther
// child comes first.
Tree binary_tree(Rank rank, Rank ranks, Rank root);

// From the root to the next rank, and on around the ring up to the rank before the root.
Tree chain_tree(Rank rank, Rank ranks, Rank root);

}  // namespace weft
