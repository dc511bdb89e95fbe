// Powers of two around a number of ranks.
#pragma once

#include <bit>
#include <cstdint>

#include "base/status.h"

namespace weft {

// The least k with 2^k >= n; n > 0.
constexpr int ceil_log2(Rank n) { return std::bit_width(static_cast<std::uint32_t>(n) - 1); }

// The greatest k with 2^k <= n; n > 0.
constexpr int floor_log2(Rank n) { return std::bit_width(static_cast<std::uint32_t>(n)) - 1; }

constexpr bool is_power_of_two(Rank n) { return ceil_log2(n) == floor_log2(n); }

}  // namespace weft
