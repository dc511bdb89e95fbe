// A network whose ranks form a torus: in each dimension rings of links that go one way, from every
// rank to the next. A path through all ranks, and which links messages take.
//
// Thread safety: immutable, share freely; LinkLoads: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/status.h"
#include "shape/tree.h"

namespace weft {

class Torus {
  public:
    // The last dimension varies fastest. REQUIRES: positive sizes.
    explicit Torus(std::vector<Rank> sizes);

    Rank ranks() const { return ranks_; }
    const std::vector<Rank>& sizes() const { return sizes_; }

    // The rank at this place of the path, 0 <= place < ranks(). Each place is one link behind the
    // one before: in a plane, row y starts at column -y, goes once around, and on to the next row.
    Rank on_path(Rank place) const;
    // Whether a link leads from its end to its beginning.
    bool path_closes() const;

    // `rank`, after moving the torus so that `from` comes to `to`.
    Rank moved(Rank rank, Rank from, Rank to) const;
    // All ranks in the order of the path.
    std::vector<Rank> path() const;

    // Ranks in an order for a binomial tree whose steps never have two messages on a link. If the
    // path is such an order, it is the path backwards, moved so that it ends at the root. Otherwise
    // it is the order of gathering by dimensions, the last one first.
    std::vector<Rank> gather_order(Rank root) const;
    // The tree over the places in that order.
    Tree gather_tree(Rank place) const;
    bool gathers_along_path() const { return gathers_along_path_; }

    // Calls f(rank, dimension) for each link, by the rank that it leaves, on the way of a message:
    // in the last dimension first.
    template <class F>
    void for_each_link(Rank from, Rank to, F f) const {
        Rank weight = 1;
        for (std::size_t d = sizes_.size(); d-- > 0; weight *= sizes_[d]) {
            for (; from / weight % sizes_[d] != to / weight % sizes_[d]; from = next(from, d))
                f(from, d);
        }
    }

  private:
    // Behind a rank in this dimension.
    Rank next(Rank rank, std::size_t dimension) const;

    std::vector<Rank> sizes_;
    Rank ranks_ = 1;
    bool gathers_along_path_ = true;
};

// How many messages are on each link.
class LinkLoads {
  public:
    explicit LinkLoads(const Torus& torus)
        : torus_(torus), loads_(static_cast<std::size_t>(torus.ranks()) * torus.sizes().size()) {}

    void add(Rank from, Rank to) {
        torus_.for_each_link(from, to, [&](Rank rank, std::size_t d) { ++loads_[index(rank, d)]; });
    }
    // Of the link that leaves `rank` in this dimension.
    Rank of(Rank rank, std::size_t dimension) const { return loads_[index(rank, dimension)]; }
    Rank most() const { return *std::ranges::max_element(loads_); }

  private:
    std::size_t index(Rank rank, std::size_t dimension) const {
        return static_cast<std::size_t>(rank) * torus_.sizes().size() + dimension;
    }

    const Torus& torus_;
    std::vector<Rank> loads_;
};

}  // namespace weft
