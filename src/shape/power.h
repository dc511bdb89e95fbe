// Logarithms and powers of numbers of ranks, and digits of a rank.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/status.h"

namespace weft {

// The least k with 2^k >= n; n > 0.
constexpr int ceil_log2(Rank n) { return std::bit_width(static_cast<std::uint32_t>(n) - 1); }

// How many of 1, ..., radix - 1 times `weight` are below n; n > 0, weight > 0.
constexpr std::int64_t multiples_below(Rank n, std::int64_t weight, std::int64_t radix) {
    return std::min<std::int64_t>(radix - 1, (n - 1) / weight);
}

// ... times any power of radix.
constexpr std::int64_t multiples_below(Rank n, std::int64_t radix) {
    std::int64_t all = 0;
    for (std::int64_t weight = 1; weight < n; weight *= radix)
        all += multiples_below(n, weight, radix);
    return all;
}

// The greatest k with 2^k <= n; n > 0.
constexpr int floor_log2(Rank n) { return std::bit_width(static_cast<std::uint32_t>(n)) - 1; }

constexpr bool is_power_of_two(Rank n) { return ceil_log2(n) == floor_log2(n); }

// The least k with radix^k >= n; n > 0, radix > 1.
constexpr int ceil_log(Rank radix, Rank n) {
    int k = 0;
    for (std::int64_t power = 1; power < n; power *= radix) ++k;
    return k;
}

constexpr bool is_power_of(Rank radix, Rank n) {
    std::int64_t power = 1;
    while (power < n) power *= radix;
    return power == n;
}

// `rank` with its digit of weight `weight` (a power of radix) advanced by `by`, modulo radix.
// REQUIRES: 0 <= by < radix.
constexpr Rank turn_digit(Rank rank, Rank radix, Rank weight, Rank by) {
    const Rank digit = rank / weight % radix;
    const Rank turned = digit < radix - by ? digit + by : digit - (radix - by);
    return rank + (turned - digit) * weight;
}

// How many of the numbers below n have bit k set; n >= 0. (Without a division: Bruck's alltoall
// asks for each block.)
constexpr Rank count_with_bit(Rank n, int k) {
    const std::int64_t half = std::int64_t{1} << k;
    const std::int64_t rest = n & (2 * half - 1);
    const std::int64_t whole = std::int64_t{n} >> (k + 1) << k;
    return static_cast<Rank>(whole + (rest > half ? rest - half : 0));
}

}  // namespace weft
