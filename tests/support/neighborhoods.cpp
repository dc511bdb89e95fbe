#include "shape/neighborhood.h"

#include "support/neighbors.h"

namespace weft::test {

std::vector<Neighborhood> Neighbors::for_library() const {
    std::vector<Neighborhood> all;
    std::vector<Dimension> dimensions;
    for (std::size_t d = 0; d < dims.size(); ++d) dimensions.push_back({dims[d], periods[d] != 0});
    for (std::size_t r = 0; r < sources.size(); ++r) {
        all.push_back(is_grid() ? grid_neighbors(dimensions, static_cast<Rank>(r))
                                : Neighborhood{sources[r], destinations[r]});
    }
    return all;
}

}  // namespace weft::test
