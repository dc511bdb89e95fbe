// Tori on which tests try the algorithms that need one.
#pragma once

#include <string>
#include <vector>

#include "shape/torus.h"

namespace weft::test {

using Sizes = std::vector<Rank>;

inline std::string to_text(const Sizes& sizes) {
    std::string text;
    for (const Rank size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

// All tori with this many ranks: in two dimensions, and in three if none of these is 1. With many
// ranks, only those without short dimensions.
inline std::vector<Sizes> tori(Rank ranks) {
    const bool are_many = ranks > 40;
    std::vector<Sizes> all;
    for (Rank first = 1; first <= ranks; ++first) {
        if (ranks % first != 0) continue;
        all.push_back({first, ranks / first});
        for (Rank second = 2; second < ranks / first; ++second) {
            if (first > 1 && ranks / first % second == 0)
                all.push_back({first, second, ranks / first / second});
        }
    }
    if (are_many)
        std::erase_if(all, [](const Sizes& sizes) { return std::ranges::min(sizes) < 4; });
    return all;
}

// The two-dimensional one with this many ranks that is closest to a square.
inline Sizes squarest_torus(Rank ranks) {
    Rank rows = 1;
    for (Rank i = 1; i <= ranks / i; ++i) {
        if (ranks % i == 0) rows = i;
    }
    return {rows, ranks / rows};
}

}  // namespace weft::test
