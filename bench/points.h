// The points of a measurement: collectives, each with sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/collective/collective.h"

namespace weft::bench {

struct Point {
    const Collective* collective;
    std::int64_t bytes;  // 0 if the collective has no size

    // "iallreduce 1M"
    std::string name() const;
};

// Every collective with every size, in this order. Refuses unknown names, with a sentence.
Result<std::vector<Point>> find_points(const std::vector<std::string>& collectives,
                                       const std::string& sizes);

}  // namespace weft::bench
