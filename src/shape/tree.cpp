#include "shape/tree.h"

#include <algorithm>

#include "shape/power.h"
#include "shape/ring.h"

namespace weft {

Tree knomial_tree(Rank rank, Rank ranks, Rank root, Rank radix) {
    Tree tree;
    tree.distance = around(rank, -root, ranks);
    // Of the digit by which this rank differs from its parent; the root has none.
    std::int64_t weight = 1;
    while (weight < ranks && tree.distance / weight % radix == 0) weight *= radix;
    tree.subtree = static_cast<Rank>(std::min(weight, std::int64_t{ranks - tree.distance}));
    if (tree.distance != 0) {
        const std::int64_t step = tree.distance / weight % radix * weight;
        tree.parent = around(root, static_cast<Rank>(tree.distance - step), ranks);
    }
    while ((weight /= radix) >= 1) {
        for (std::int64_t i = multiples_below(tree.subtree, weight, radix); i > 0; --i) {
            const auto child = static_cast<Rank>(tree.distance + i * weight);
            tree.children.push_back(around(root, child, ranks));
        }
    }
    return tree;
}

// The first child of each weight has the largest subtree, unless it is cut short.
Rank knomial_subtree_max(Rank ranks, Rank radix) {
    std::int64_t largest = 0;
    for (std::int64_t weight = 1; weight < ranks; weight *= radix)
        largest = std::max(largest, std::min(weight, ranks - weight));
    return static_cast<Rank>(largest);
}

Tree binomial_tree(Rank rank, Rank ranks, Rank root) { return knomial_tree(rank, ranks, root, 2); }

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
