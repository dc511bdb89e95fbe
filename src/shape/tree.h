// Trees over the ranks: each rank's parent, and its children in the order of sending.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"

namespace weft {

// Counted from the root, a subtree is consecutive ranks: its own rank, at `distance`, and those
// behind it.
struct Tree {
    std::optional<Rank> parent;  // none: the root
    std::vector<Rank> children;
    Rank distance = 0;
    Rank subtree = 1;  // number of ranks in it
};

// In base `radix`, the parent of the rank at distance v from the root is at v without its lowest
// digit that is not 0. The farthest child comes first: with radix - 1 ports a broadcast takes
// ceil(log_radix ranks) rounds.
Tree knomial_tree(Rank rank, Rank ranks, Rank root, Rank radix);

// The largest subtree of a child of the root in a k-nomial tree; 0: there is none.
Rank knomial_subtree_max(Rank ranks, Rank radix);

// Radix 2.
Tree binomial_tree(Rank rank, Rank ranks, Rank root);

// The parent of the rank at distance v from the root is at v without its highest set bit. The
// nearest child comes first: a broadcast takes ceil(log2 ranks) rounds, too. Subtrees are not
// consecutive.
Tree doubling_tree(Rank rank, Rank ranks, Rank root);

// In base -2 (shape/bine.h), the parent of a rank is at the distance whose lowest digits are the
// complement, as many as are equal to the lowest one. Of the children of such a rank the one with
// the most digits complemented comes first: a broadcast takes ceil(log2 ranks) rounds, too.
// Subtrees lie on both sides of their top. If the number of ranks is not a power of two, some ranks
// have another, beside them, as their last child (shape/butterfly.h).
Tree bine_tree(Rank rank, Rank ranks, Rank root);

// A subtree is halved between two children; the nearer one gets the odd rank. The farther one comes
// first.
Tree binary_tree(Rank rank, Rank ranks, Rank root);

// From the root to the next rank, and on around the ring up to the rank before the root.
Tree chain_tree(Rank rank, Rank ranks, Rank root);

}  // namespace weft
