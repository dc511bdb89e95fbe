// Butterflies: patterns in which a power of two of ranks meet in pairs, in log2(ranks) steps, such
// that in the end each has heard from all others.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace weft {

struct Butterfly {
    // Whom `rank` meets in this step, 0 <= step < log2(ranks).
    Rank (*partner)(Rank rank, Rank ranks, int step);
    // Bit k tells partners of step k apart.
    Rank (*sides)(Rank rank, Rank ranks);
    // Partners of step k agree in the lower bits of `sides`: they can share data by halves.
    bool has_halves;
    // Ranks that have heard from each other before step k agree in bit k: they can combine in one
    // order.
    bool has_order;
};

// Partners of step k are 2^k apart, and the ranks that have heard from each other are consecutive.
inline constexpr Butterfly hypercube = {
    .partner = [](Rank rank, Rank, int step) -> Rank { return rank ^ Rank { 1 } << step; },
    .sides = [](Rank rank, Rank) { return rank; },
    .has_halves = true,
    .has_order = true,
};

}  // namespace weft
