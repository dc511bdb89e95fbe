// Ranks on a ring.
#pragma once

#include "base/status.h"

namespace weft {

// `rank` + `distance` modulo `ranks`; -ranks <= distance <= ranks.
constexpr Rank around(Rank rank, Rank distance, Rank ranks) {
    std::int64_t sum = std::int64_t{rank} + distance;
    if (sum < 0) sum += ranks;
    if (sum >= ranks) sum -= ranks;
    return static_cast<Rank>(sum);
}

// The ranks that one rank receives from and sends to.
struct Neighbours {
    Rank from = 0;
    Rank to = 0;
};

constexpr Neighbours ring_neighbours(Rank rank, Rank ranks) {
    return {around(rank, -1, ranks), around(rank, 1, ranks)};
}

// Round `k` of a dissemination: a rank sends to the rank 2^k ahead; 2^k < ranks.
constexpr Neighbours dissemination_peers(Rank rank, Rank ranks, int k) {
    return {around(rank, -(Rank{1} << k), ranks), around(rank, Rank{1} << k, ranks)};
}

}  // namespace weft
