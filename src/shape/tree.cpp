#include "shape/tree.h"

#include <algorithm>

#include "shape/power.h"
#include "shape/ring.h"

namespace weft {

Tree binomial_tree(Rank rank, Rank ranks, Rank root) {
    Rank distance = around(rank, -root, ranks);
    Tree tree;
    tree.distance = distance;
    int subtree_log2 = ceil_log2(ranks);
    if (distance != 0) {
        subtree_log2 = std::countr_zero(static_cast<std::uint32_t>(distance));
        tree.parent = around(root, distance - (Rank{1} << subtree_log2), ranks);
    }
    tree.subtree = static_cast<Rank>(
        std::min(std::int64_t{1} << subtree_log2, std::int64_t{ranks - distance}));
    for (int k = subtree_log2 - 1; k >= 0; --k) {
        Rank step = Rank{1} << k;
        if (step < ranks - distance) tree.children.push_back(around(root, distance + step, ranks));
    }
    return tree;
}

Tree doubling_tree(Rank rank, Rank ranks, Rank root) {
    const Rank distance = around(rank, -root, ranks);
    Tree tree;
    tree.distance = distance;
    std::int64_t step = 1;
    if (distance != 0) {
        const Rank highest = Rank{1} << floor_log2(distance);
        tree.parent = around(root, distance - highest, ranks);
        step = 2 * std::int64_t{highest};
    }
    for (; step < ranks - distance; step *= 2)
        tree.children.push_back(around(root, distance + static_cast<Rank>(step), ranks));
    return tree;
}

Tree binary_tree(Rank rank, Rank ranks, Rank root) {
    Tree tree;
    tree.distance = around(rank, -root, ranks);
    // Walks down from the root to this rank's subtree.
    Rank top = 0;
    Rank size = ranks;
    while (top != tree.distance) {
        tree.parent = around(root, top, ranks);
        const Rank near = size / 2;
        const Rank far_top = top + 1 + near;
        const bool is_far = tree.distance >= far_top;
        size = is_far ? size - 1 - near : near;
        top = is_far ? far_top : top + 1;
    }
    tree.subtree = size;
    if (size > 2) tree.children.push_back(around(root, top + 1 + size / 2, ranks));
    if (size > 1) tree.children.push_back(around(root, top + 1, ranks));
    return tree;
}

Tree chain_tree(Rank rank, Rank ranks, Rank root) {
    Tree tree;
    Neighbours beside = ring_neighbours(rank, ranks);
    tree.distance = around(rank, -root, ranks);
    tree.subtree = ranks - tree.distance;
    if (rank != root) tree.parent = beside.from;
    if (beside.to != root) tree.children.push_back(beside.to);
    return tree;
}

}  // namespace weft
