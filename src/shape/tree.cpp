#include "shape/tree.h"

#include <algorithm>
#include <bit>

#include "shape/bine.h"
#include "shape/butterfly.h"
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

Tree bine_tree(Rank rank, Rank ranks, Rank root) {
    Tree tree;
    tree.distance = around(rank, -root, ranks);
    // Places in the order of the ranks behind the root. The root has the last one, so it stands for
    // itself alone.
    const Fold fold(ranks);
    const Rank place = around(rank, -1 - root, ranks);
    const auto at_place = [&](Rank of) { return around(of, root + 1 - ranks, ranks); };
    const std::optional<Rank> number = fold.number_of(place);
    if (!number) {
        tree.parent = at_place(fold.partner(place));
        return tree;
    }
    // Standing ranks, by their distance from the root among them.
    const Rank standing = fold.standing;
    const auto at_digits = [&](Rank digits) {
        const Rank distance = from_negabinary(digits, standing);
        return at_place(fold.rank_of((distance + standing - 1) & (standing - 1)));
    };
    const Rank digits = negabinary(*number + 1, standing);
    int equal = floor_log2(standing) + 1;  // lowest digits; of the root all, and those before them
    if (digits != 0) {
        const auto bits = static_cast<std::uint32_t>(digits);
        equal = digits % 2 == 0 ? std::countr_zero(bits) : std::countr_one(bits);
        tree.parent = at_digits(digits ^ ((Rank{1} << equal) - 1));
    }
    for (int step = equal - 1; step > 0; --step)
        tree.children.push_back(at_digits(digits ^ ((Rank{1} << step) - 1)));
    if (fold.is_paired(place)) tree.children.push_back(at_place(fold.partner(place)));
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
