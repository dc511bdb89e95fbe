#include "shape/neighborhood.h"

#include "base/assert.h"

namespace weft {

std::size_t Neighborhood::origin(std::size_t block, Rank rank, const Neighborhood& its) const {
    const Rank source = sources[block];
    std::size_t earlier = 0;
    for (std::size_t i = 0; received(i) != block; ++i) earlier += sources[received(i)] == source;
    for (std::size_t k = 0; k < its.destinations.size(); ++k) {
        if (its.destinations[k] == rank && earlier-- == 0) return k;
    }
    WEFT_ASSERT(!"the source sends as many blocks as this rank expects");
    return 0;
}

Neighborhood grid_neighbors(std::span<const Dimension> grid, Rank rank) {
    Neighborhood made;
    made.is_grid = true;
    made.sources.resize(2 * grid.size());
    Rank stride = 1;
    for (std::size_t d = grid.size(); d-- > 0;) {
        const Dimension& dimension = grid[d];
        const Rank at = rank / stride % dimension.size;
        const Rank origin = rank - at * stride;
        for (const Rank step : {-1, 1}) {
            Rank beside = at + step;
            if (dimension.is_periodic) beside = (beside + dimension.size) % dimension.size;
            const bool is_there = beside >= 0 && beside < dimension.size;
            made.sources[2 * d + (step > 0)] = is_there ? origin + beside * stride : no_rank;
        }
        stride *= dimension.size;
    }
    made.destinations = made.sources;
    return made;
}

}  // namespace weft
