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
    // As a program gives it: `dims` and `periods` of `ndims` numbers.
    static Result<Grid> of_arguments(int ndims, const int* dims, const int* periods, Rank ranks);
    // Different for different grids, most likely; never 0.
    std::uint64_t digest() const;
};

// A graph as a program gives it to one of `ranks` ranks.
Result<Neighborhood> graph_of_arguments(int indegree, const int* sources, int outdegree,
                                        const int* destinations, Rank ranks);

// An array argument of `count` numbers.
Result<std::span<const int>> number_array(const char* count_name, int count, const char* name,
                                          const int* array);

// Refuses ranks that are not in the communicator. `name` is the argument's.
Status check_ranks(const char* name, std::span<const int> neighbors, Rank ranks);

}  // namespace weft
