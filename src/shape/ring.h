// Ranks on a ring.
#pragma once

#include <optional>

#include "base/status.h"
#include "shape/power.h"

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

// Pairs of ranks, in steps: in each step a rank meets at most one other; after all steps it has met
// every other once.

// ranks - 1 if that is possible: for even numbers. Otherwise each rank rests in one step.
constexpr Rank pairing_steps(Rank ranks) {
    return ranks % 2 == 0 ? ranks - 1 : ranks == 1 ? 0 : ranks;
}

// Whom `rank` meets in this step; none: it rests. 0 <= step < pairing_steps(ranks).
//
// Powers of two: the rank that differs in the bits of step + 1. Otherwise ranks meet whose sum is
// `step` modulo an odd number; the last of an even number of ranks meets who would meet itself.
constexpr std::optional<Rank> partner_in_step(Rank rank, Rank ranks, Rank step) {
    if (is_power_of_two(ranks)) return rank ^ (step + 1);
    const std::int64_t modulus = ranks % 2 == 0 ? ranks - 1 : ranks;
    const std::int64_t half = (modulus + 1) / 2;  // twice that is 1
    if (rank == modulus) return static_cast<Rank>(step * half % modulus);
    const std::int64_t partner = (step - rank + modulus) % modulus;
    if (partner != rank) return static_cast<Rank>(partner);
    if (ranks % 2 == 0) return static_cast<Rank>(modulus);
    return std::nullopt;
}

}  // namespace weft
