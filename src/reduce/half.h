// The 16-bit formats: to float32, which is exact, and back, rounded once.
//
// A NaN becomes the one quiet NaN of its format, positive and without a payload: processors and
// compilers differ in the NaN that they return, and results are to have the same bits on all.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/float_state.h"

namespace weft {

enum class RoundTo : std::uint8_t { nearest, down, up, zero };

constexpr RoundTo direction_of(Rounding rounding) {
#if defined(__aarch64__)
    constexpr RoundTo directions[roundings] = {RoundTo::nearest, RoundTo::up, RoundTo::down,
                                               RoundTo::zero};
#else
    constexpr RoundTo directions[roundings] = {RoundTo::nearest, RoundTo::down, RoundTo::up,
                                               RoundTo::zero};
#endif
    return directions[static_cast<unsigned>(rounding)];
}

// What to add to the bits of a float32 before the lowest `cut` of them are cut off. `negative` is
// the number's sign.
template <RoundTo direction>
inline std::uint32_t before_cut(std::uint32_t bits, bool negative, unsigned cut) {
    const std::uint32_t below = (std::uint32_t{1} << cut) - 1;  // one unit of the result, less one
    switch (direction) {
        case RoundTo::nearest: return (below >> 1) + (bits >> cut & 1);  // of two: the even one
        case RoundTo::down: return negative ? below : 0;
        case RoundTo::up: return negative ? 0 : below;
        case RoundTo::zero: return 0;
    }
    return 0;
}

struct Bfloat16 {
    static constexpr std::uint16_t quiet_nan = 0x7fc0;

    static float widen(std::uint16_t half) {
        return std::bit_cast<float>(std::uint32_t{half} << 16);
    }

    template <RoundTo direction>
    static std::uint16_t narrow(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        // An overflow carries into the exponent, which is then infinity's.
        const std::uint32_t half =
            (bits + before_cut<direction>(bits, (bits >> 31) != 0, 16)) >> 16;
        return static_cast<std::uint16_t>(value == value ? half : quiet_nan);
    }
};

struct Float16 {
    static constexpr std::uint16_t quiet_nan = 0x7e00;

    static float widen(std::uint16_t half) {
        const std::uint32_t magnitude = half & 0x7fffu;
        const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
        const std::uint32_t normal = (magnitude << 13) + bias;
        const std::uint32_t special = normal + bias;  // infinity, NaN
        const auto number = static_cast<float>(static_cast<int>(magnitude));
        const auto subnormal = std::bit_cast<std::uint32_t>(number * 0x1p-24f);
        const std::uint32_t bits = magnitude < 0x0400     ? subnormal
                                   : magnitude < infinity ? normal
                                                          : special;
        return std::bit_cast<float>(sign | bits);
    }

    // REQUIRES: the thread rounds in `direction`.
    template <RoundTo direction>
    static std::uint16_t narrow(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const bool is_negative = (bits >> 31) != 0;
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        const std::uint32_t rebiased = magnitude - bias;
        const std::uint32_t cut =
            (rebiased + before_cut<direction>(rebiased, is_negative, 13)) >> 13;
        const bool grows = direction == RoundTo::nearest ||
                           (direction == RoundTo::up && !is_negative) ||
                           (direction == RoundTo::down && is_negative);
        const std::uint32_t most = grows || magnitude == 0x7f800000u ? infinity : infinity - 1;
        // Below, the unit is 2^-24, which is also that of numbers between 0.5 and 1.
        const std::uint32_t subnormal =
            (std::bit_cast<std::uint32_t>(value + std::copysign(0.5f, value)) & 0x7fffffffu) -
            std::bit_cast<std::uint32_t>(0.5f);
        const std::uint32_t half =
            (magnitude < 0x38800000u ? subnormal : std::min(cut, most)) | (bits >> 16 & 0x8000u);
        return static_cast<std::uint16_t>(value == value ? half : quiet_nan);
    }

  private:
    static constexpr std::uint32_t infinity = 0x7c00;
    static constexpr std::uint32_t bias = (127 - 15) << 23;  // between the exponents of the formats
};

}  // namespace weft
