// Reduces any number of ranks to a power of two: the first ranks pair up, and one of each pair
// stands for both.
#pragma once

#include <optional>

#include "shape/power.h"

namespace weft {

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
