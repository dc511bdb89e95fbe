// Butterflies: patterns in which a power of two of ranks meet in pairs, in log2(ranks) steps, such
// that in the end each has heard from all others.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "shape/power.h"

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

// Reduces any number of ranks to a power of two: the first ranks pair up, and one of each pair
// stands for both.

// For i < extra, ranks 2i and 2i + 1 form a pair, and 2i + 1 stands for it. Standing ranks are
// numbered in rank order, so that operands stay in order too.
struct Fold {
    Rank standing = 1;  // a power of two
    Rank extra = 0;     // ranks beyond that power

    constexpr explicit Fold(Rank ranks)
        : standing(Rank{1} << floor_log2(ranks)), extra(ranks - standing) {}

    constexpr bool is_paired(Rank rank) const { return rank < 2 * std::int64_t{extra}; }
    constexpr Rank partner(Rank rank) const { return rank ^ 1; }  // is_paired(rank)

    // A rank's number among the standing ranks; none: its partner stands for it.
    constexpr std::optional<Rank> number_of(Rank rank) const {
        if (!is_paired(rank)) return rank - extra;
        if (rank % 2 == 0) return std::nullopt;
        return rank / 2;
    }
    constexpr Rank rank_of(Rank number) const {
        return number < extra ? 2 * number + 1 : number + extra;
    }
};

}  // namespace weft
