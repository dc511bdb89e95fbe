// Ranks in base -2 ("negabinary"), on which Bine trees and butterflies are built: all partners
// differ in their lowest digits, and so are at most about 2/3 of the distance apart that they have
// if they differ in one binary digit.
//
// De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication
// Locality, 2025, doi:10.1145/3712285.3759835
#pragma once

#include <cstdint>

#include "shape/butterfly.h"
#include "shape/power.h"

namespace weft {

// The digits of `n` in base -2, modulo `ranks`: bit k stands for (-2)^k. REQUIRES: `ranks` is a
// power of two.
constexpr Rank negabinary(Rank n, Rank ranks) {
    constexpr std::uint32_t negative = 0xaaaaaaaa;  // digits of negative weight
    const std::uint32_t digits = (static_cast<std::uint32_t>(n) + negative) ^ negative;
    return static_cast<Rank>(digits & static_cast<std::uint32_t>(ranks - 1));
}

// The number from 0 to ranks - 1 that has these digits.
constexpr Rank from_negabinary(Rank digits, Rank ranks) {
    constexpr std::uint32_t negative = 0xaaaaaaaa;
    const std::uint32_t n = (static_cast<std::uint32_t>(digits) ^ negative) - negative;
    return static_cast<Rank>(n & static_cast<std::uint32_t>(ranks - 1));
}

// 1 - 2 + 4 - ... (-2)^k, about 2^(k+1) / 3, modulo `ranks`.
constexpr Rank bine_distance(int k, Rank ranks) {
    return from_negabinary((Rank{2} << k) - 1, ranks);
}

// An even rank meets the one at this distance ahead, an odd one back.
constexpr Rank bine_partner(Rank rank, Rank ranks, int k) {
    const Rank distance = bine_distance(k, ranks);
    return (rank % 2 == 0 ? rank + distance : rank - distance + ranks) & (ranks - 1);
}

// Which neighboring digits differ in a rank's number, or, of an even rank, in the negated number.
// Those of partners add up to the distance, whose digits up to k are 1 and then 0: theirs are
// complements up to digit k, and digits k + 1 are equal. So they agree in the bits below k, and
// differ in bit k.
constexpr Rank bine_sides(Rank rank, Rank ranks) {
    const Rank digits = negabinary(rank % 2 == 0 ? ranks - rank : rank, ranks);
    return digits ^ digits >> 1;
}

// The nearest partner first.
inline constexpr Butterfly bine_doubling = {
    .partner = bine_partner,
    .sides = bine_sides,
    .has_halves = true,
    .has_order = false,
};

// The farthest partner first.
inline constexpr Butterfly bine_halving = {
    .partner = [](Rank rank, Rank ranks, int step) -> Rank {
        return bine_partner(rank, ranks, floor_log2(ranks) - 1 - step);
    },
    .sides = [](Rank rank, Rank ranks) -> Rank {
        Rank reversed = 0;
        const Rank sides = bine_sides(rank, ranks);
        for (Rank bit = 1; bit < ranks; bit *= 2)
            reversed = 2 * reversed + ((sides & bit) != 0 ? 1 : 0);
        return reversed;
    },
    .has_halves = false,
    .has_order = true,
};

}  // namespace weft
