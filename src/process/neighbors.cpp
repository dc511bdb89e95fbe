#include "process/neighbors.h"

#include "base/hash.h"

namespace weft {

Result<Grid> Grid::of(std::span<const int> sizes, const int* periods, Rank ranks) {
    Grid grid;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const int most = ranks / grid.places;
        if (sizes[d] < 1 || sizes[d] > most) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "dims[%zu] = %d; expected 1..%d, as there are %d ranks", d, sizes[d],
                           most, ranks);
        }
        if (periods[d] != 0 && periods[d] != 1) {
            return failure(WEFT_REFUSED_ARGUMENT, "periods[%zu] = %d; expected 0 or 1", d,
                           periods[d]);
        }
        grid.places *= sizes[d];
        grid.dimensions.push_back({sizes[d], periods[d] != 0});
    }
    return grid;
}

Result<Grid> Grid::of_arguments(int ndims, const int* dims, const int* periods, Rank ranks) {
    constexpr int dimensions_max = 1024;
    if (ndims > dimensions_max)
        return failure(WEFT_REFUSED_ARGUMENT, "ndims = %d; expected 0..%d", ndims, dimensions_max);
    auto sizes = number_array("ndims", ndims, "dims", dims);
    if (!sizes.is_ok()) return sizes.status();
    auto wraps = number_array("ndims", ndims, "periods", periods);
    if (!wraps.is_ok()) return wraps.status();
    return of(*sizes, periods, ranks);
}

std::uint64_t Grid::digest() const {
    Hash hash;
    for (const Dimension& dimension : dimensions)
        hash.add(static_cast<std::uint64_t>(dimension.size) * 2 + dimension.is_periodic);
    return hash.value() | 1;
}

Result<Neighborhood> graph_of_arguments(int indegree, const int* sources, int outdegree,
                                        const int* destinations, Rank ranks) {
    auto in = number_array("indegree", indegree, "sources", sources);
    if (!in.is_ok()) return in.status();
    auto out = number_array("outdegree", outdegree, "destinations", destinations);
    if (!out.is_ok()) return out.status();
    WEFT_RETURN_IF_NOT_OK(check_ranks("sources", *in, ranks));
    WEFT_RETURN_IF_NOT_OK(check_ranks("destinations", *out, ranks));
    return Neighborhood{{in->begin(), in->end()}, {out->begin(), out->end()}};
}

Result<std::span<const int>> number_array(const char* count_name, int count, const char* name,
                                          const int* array) {
    if (count < 0)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %d; expected 0 or more", count_name, count);
    if (count > 0 && !array)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected %d numbers", name, count);
    return std::span(array, static_cast<std::size_t>(count));
}

Status check_ranks(const char* name, std::span<const int> neighbors, Rank ranks) {
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
        if (neighbors[i] >= 0 && neighbors[i] < ranks) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "%s[%zu] = %d; expected 0..%d", name, i, neighbors[i],
                       ranks - 1);
    }
    return ok;
}

}  // namespace weft
