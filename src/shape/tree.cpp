#include "shape/tree.h"

#include "shape/power.h"
#include "shape/ring.h"

namespace weft {

Tree binomial_tree(Rank rank, Rank ranks, Rank root) {
    Rank distance = around(rank, -root, ranks);
    Tree tree;
    int subtree_log2 = ceil_log2(ranks);
    if (distance != 0) {
        subtree_log2 = std::countr_zero(static_cast<std::uint32_t>(distance));
        tree.parent = around(root, distance - (Rank{1} << subtree_log2), ranks);
    }
    for (int k = subtree_log2 - 1; k >= 0; --k) {
        Rank step = Rank{1} << k;
        if (step < ranks - distance) tree.children.push_back(around(root, distance + step, ranks));
    }
    return tree;
}

Tree chain_tree(Rank rank, Rank ranks, Rank root) {
    Tree tree;
    Neighbours beside = ring_neighbours(rank, ranks);
    if (rank != root) tree.parent = beside.from;
    if (beside.to != root) tree.children.push_back(beside.to);
    return tree;
}

}  // namespace weft
