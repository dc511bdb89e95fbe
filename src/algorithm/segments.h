// How algorithms cut a vector.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/algorithm.h"
#include "shape/blocks.h"

namespace weft::algorithm {

// Part `i` of a vector that is cut into one for each rank: nearly equal, of whole elements.
inline Region part_of_rank(const GlobalArgs& a, Region vector, Rank i) {
    const Block block = block_of(a.bytes / a.element_bytes, a.ranks, i);
    return vector.part(block.first * a.element_bytes, block.count * a.element_bytes);
}

// Bytes of a pipeline's segment: whole elements, at least one, and at most the vector.
inline std::int64_t segment_bytes(std::int64_t bytes, std::int64_t element_bytes, Tuning tuning) {
    std::int64_t elements = std::max<std::int64_t>(1, tuning.segment_bytes / element_bytes);
    return std::min(bytes, elements * element_bytes);
}

inline std::int64_t segment_count(const GlobalArgs& a) {
    if (a.bytes == 0) return 0;
    std::int64_t segment = segment_bytes(a.bytes, a.element_bytes, a.tuning);
    return (a.bytes + segment - 1) / segment;
}

}  // namespace weft::algorithm
