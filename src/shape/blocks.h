// Cutting elements into nearly equal consecutive blocks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/status.h"

namespace weft {

struct Block {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

// Block `i` of `elements` cut into `blocks`. Sizes differ by at most one; the larger come first.
constexpr Block block_of(std::int64_t elements, Rank blocks, Rank i) {
    std::int64_t least = elements / blocks;
    std::int64_t larger = elements % blocks;
    return {i * least + std::min<std::int64_t>(i, larger), least + (i < larger ? 1 : 0)};
}

}  // namespace weft
