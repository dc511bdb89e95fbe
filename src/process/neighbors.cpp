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
        grid.places *= sizes[d];
        grid.dimensions.push_back({sizes[d], periods[d] != 0});
    }
    return grid;
}

std::uint64_t Grid::digest() const {
    Hash hash;
    for (const Dimension& dimension : dimensions)
        hash.add(static_cast<std::uint64_t>(dimension.size) * 2 + dimension.is_periodic);
    return hash.value() | 1;
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
