// The neighbors of a rank in a Cartesian grid or a graph: to whom it sends blocks, and from whom it
// gets some.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"

namespace weft {

inline constexpr Rank no_rank = -1;  // a neighbor that is not there: beyond the border of a grid

struct Neighborhood {
    std::vector<Rank> sources;       // by block received
    std::vector<Rank> destinations;  // by block sent
    // A grid: blocks 2d and 2d + 1 go down and up dimension d. What goes down arrives from above.
    bool is_grid = false;

    // Which block the i-th receive is for. In this order receives from one rank meet its sends.
    std::size_t received(std::size_t i) const { return is_grid ? i ^ 1 : i; }

    // Which block of `source`, whose neighborhood is `its`, becomes this rank's block `block`.
    // REQUIRES: sources[block] == source, and both ranks have as many edges between them.
    std::size_t origin(std::size_t block, Rank rank, const Neighborhood& its) const;
};

// A dimension of a grid.
struct Dimension {
    Rank size = 1;
    bool is_periodic = false;
};

// The last dimension varies fastest. REQUIRES: sizes > 0, whose product is more than `rank`.
Neighborhood grid_neighbors(std::span<const Dimension> grid, Rank rank);

}  // namespace weft
