#include "shape/torus.h"

#include <utility>

#include "shape/power.h"

namespace weft {

Torus::Torus(std::vector<Rank> sizes) : sizes_(std::move(sizes)) {
    for (const Rank size : sizes_) ranks_ *= size;
    // Moved elsewhere, messages load links alike.
    const std::vector<Rank> order = path();
    for (Rank step = 1; step < ranks_ && gathers_along_path_; step *= 2) {
        LinkLoads loads(*this);
        for (Rank place = ranks_ - 1 - step; place >= 0; place -= 2 * step)
            loads.add(order[static_cast<std::size_t>(place)],
                      order[static_cast<std::size_t>(place + step)]);
        gathers_along_path_ = loads.most() <= 1;
    }
}

// A coordinate advances with every rank of the path, row or plane, except where the next larger
// dimension advances instead.
Rank Torus::on_path(Rank place) const {
    Rank rank = 0;
    Rank weight = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; weight *= sizes_[d]) {
        const Rank advanced = place / weight - place / weight / sizes_[d];
        rank += advanced % sizes_[d] * weight;
    }
    return rank;
}

bool Torus::path_closes() const {
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
        if (next(on_path(ranks_ - 1), d) == on_path(0)) return true;
    }
    return false;
}

Rank Torus::moved(Rank rank, Rank from, Rank to) const {
    Rank weight = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; weight *= sizes_[d]) {
        const Rank size = sizes_[d];
        const Rank by = (to / weight % size - from / weight % size + size) % size;
        rank = turn_digit(rank, size, weight, by);
    }
    return rank;
}

Rank Torus::next(Rank rank, std::size_t dimension) const {
    Rank weight = 1;
    for (std::size_t d = sizes_.size() - 1; d > dimension; --d) weight *= sizes_[d];
    return turn_digit(rank, sizes_[dimension], weight, sizes_[dimension] > 1 ? 1 : 0);
}

std::vector<Rank> Torus::path() const {
    std::vector<Rank> order;
    for (Rank place = 0; place < ranks_; ++place) order.push_back(on_path(place));
    return order;
}

std::vector<Rank> Torus::gather_order(Rank root) const {
    std::vector<Rank> order;
    for (Rank place = 0; place < ranks_; ++place) {
        order.push_back(gathers_along_path_
                            ? moved(on_path(ranks_ - 1 - place), on_path(ranks_ - 1), root)
                            : moved(root, place, 0));
    }
    return order;
}

// A digit of a place is how far the root is in that dimension.
Tree Torus::gather_tree(Rank place) const {
    if (gathers_along_path_) return binomial_tree(place, ranks_, 0);
    Tree tree;
    tree.distance = place;
    Rank weight = 1;
    for (std::size_t d = sizes_.size(); d-- > 0 && !tree.parent; weight *= sizes_[d]) {
        const Rank digit = place / weight % sizes_[d];
        const Tree ring = binomial_tree(digit, sizes_[d], 0);
        std::vector<Rank> children;  // the farthest first
        for (const Rank child : ring.children) children.push_back(place + (child - digit) * weight);
        tree.children.insert(tree.children.begin(), children.begin(), children.end());
        if (ring.parent) tree.parent = place + (*ring.parent - digit) * weight;
        tree.subtree = ring.subtree * weight;
    }
    return tree;
}

}  // namespace weft
