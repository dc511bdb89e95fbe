// The arguments of constructors of topologies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "shape/neighborhood.h"

namespace weft {

// A grid as it was asked for. Refuses one with more places than ranks.
struct Grid {
    std::vector<Dimension> dimensions;
    Rank places = 1;

    static Result<Grid> of(std::span<const int> sizes, const int* periods, Rank ranks);
    // Different for different grids, most likely; never 0.
    std::uint64_t digest() const;
};

// Refuses ranks that are not in the communicator. `name` is the argument's.
Status check_ranks(const char* name, std::span<const int> neighbors, Rank ranks);

}  // namespace weft
