#include "reduce/half_kernels.h"

#include <array>

#include "reduce/elements.h"
#include "reduce/half.h"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace weft {
namespace {

using StoredHalf = Stored<std::uint16_t>;
using StoredFloat = Stored<float>;

const StoredHalf* halves(const void* at) { return static_cast<const StoredHalf*>(at); }
StoredHalf* halves(void* at) { return static_cast<StoredHalf*>(at); }

// The right operands: those of a buffer, or one number for all.
template <class Format>
float operand(const StoredHalf* right, std::size_t i) {
    return Format::widen(right[i].element);
}
template <class Format>
float operand(float right, std::size_t) {
    return right;
}
const StoredHalf* beyond(const StoredHalf* right, std::size_t i) { return right + i; }
float beyond(float right, std::size_t) { return right; }

// out[i] = left[i] (op) right[i]. `out` is exactly `left` or `right`, or overlaps neither: no two
// iterations touch the same bytes.
struct Portable {
    template <class Format, RoundTo direction, class Function, class Right>
    static void loop(const StoredHalf* left, Right right, StoredHalf* out, std::size_t count) {
#pragma GCC ivdep
        for (std::size_t i = 0; i < count; ++i) {
            out[i].element = Format::template narrow<direction>(
                Function::of(Format::widen(left[i].element), operand<Format>(right, i)));
        }
    }

    template <class Format>
    static void widen(const StoredHalf* from, float by, StoredFloat* into, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            into[i].element = Format::widen(from[i].element) * by;
    }

    template <class Format, RoundTo direction>
    static void narrow(const StoredFloat* from, float by, StoredHalf* into, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            into[i].element = Format::template narrow<direction>(from[i].element / by);
    }
};

#if defined(__x86_64__)

// The vector versions take 16 or 32 elements at a time, in two registers, and leave the rest to the
// portable version.

#define WEFT_TARGET [[gnu::target("avx2,f16c")]]
#define WEFT_INLINE_TARGET [[gnu::target("avx2,f16c"), gnu::always_inline]] inline

struct Avx2 {
    struct Values {
        __m256 low, high;
    };
    static constexpr std::size_t width = 16;

    WEFT_INLINE_TARGET static __m256 of(Sum, __m256 a, __m256 b) { return _mm256_add_ps(a, b); }
    WEFT_INLINE_TARGET static __m256 of(Prod, __m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
    WEFT_INLINE_TARGET static __m256 of(Quotient, __m256 a, __m256 b) {
        return _mm256_div_ps(a, b);
    }
    WEFT_INLINE_TARGET static __m256 of(Min, __m256 a, __m256 b) {
        return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
    }
    WEFT_INLINE_TARGET static __m256 of(Max, __m256 a, __m256 b) {
        const __m256 sign = _mm256_set1_ps(-0.0f);
        return _mm256_xor_ps(of(Min{}, _mm256_xor_ps(a, sign), _mm256_xor_ps(b, sign)), sign);
    }

    WEFT_INLINE_TARGET static __m256 widened(Bfloat16, __m128i half) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
    }
    WEFT_INLINE_TARGET static __m256 widened(Float16, __m128i half) {
        return _mm256_cvtph_ps(half);
    }
    template <class Format>
    WEFT_INLINE_TARGET static Values operands(const StoredHalf* at, std::size_t i) {
        const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at + i));
        return {widened(Format{}, _mm256_castsi256_si128(half)),
                widened(Format{}, _mm256_extracti128_si256(half, 1))};
    }
    template <class>
    WEFT_INLINE_TARGET static Values operands(float value, std::size_t) {
        return {_mm256_set1_ps(value), _mm256_set1_ps(value)};
    }

    template <RoundTo direction>
    WEFT_INLINE_TARGET static __m256i narrowed(__m256 value) {
        const __m256i bits = _mm256_castps_si256(value);
        const __m256i below = _mm256_set1_epi32(0xffff);
        __m256i add = _mm256_setzero_si256();
        if constexpr (direction == RoundTo::nearest) {
            add = _mm256_add_epi32(
                _mm256_set1_epi32(0x7fff),
                _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1)));
        } else if constexpr (direction == RoundTo::down) {
            add = _mm256_and_si256(_mm256_srai_epi32(bits, 31), below);
        } else if constexpr (direction == RoundTo::up) {
            add = _mm256_andnot_si256(_mm256_srai_epi32(bits, 31), below);
        }
        const __m256i half = _mm256_srli_epi32(_mm256_add_epi32(bits, add), 16);
        const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
        return _mm256_blendv_epi8(half, _mm256_set1_epi32(Bfloat16::quiet_nan),
                                  _mm256_castps_si256(is_nan));
    }
    template <RoundTo direction>
    WEFT_INLINE_TARGET static void store(Bfloat16, StoredHalf* at, Values values) {
        const __m256i packed =
            _mm256_packus_epi32(narrowed<direction>(values.low), narrowed<direction>(values.high));
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(at),
                            _mm256_permute4x64_epi64(packed, 0xd8));
    }
    WEFT_INLINE_TARGET static __m128i narrowed_by_f16c(__m256 value) {
        const __m256 quiet = _mm256_blendv_ps(value, _mm256_set1_ps(__builtin_nanf("")),
                                              _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        return _mm256_cvtps_ph(quiet, _MM_FROUND_CUR_DIRECTION);
    }
    template <RoundTo>
    WEFT_INLINE_TARGET static void store(Float16, StoredHalf* at, Values values) {
        _mm256_storeu_si256(
            reinterpret_cast<__m256i_u*>(at),
            _mm256_set_m128i(narrowed_by_f16c(values.high), narrowed_by_f16c(values.low)));
    }

    template <class Format, RoundTo direction, class Function, class Right>
    WEFT_TARGET static void loop(const StoredHalf* left, Right right, StoredHalf* out,
                                 std::size_t count) {
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values a = operands<Format>(left, i);
            const Values b = operands<Format>(right, i);
            store<direction>(Format{}, out + i,
                             {of(Function{}, a.low, b.low), of(Function{}, a.high, b.high)});
        }
        Portable::loop<Format, direction, Function>(left + i, beyond(right, i), out + i, count - i);
    }

    template <class Format>
    WEFT_TARGET static void widen(const StoredHalf* from, float by, StoredFloat* into,
                                  std::size_t count) {
        const Values factor = operands<Format>(by, 0);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values values = operands<Format>(from, i);
            auto* const there = static_cast<float*>(static_cast<void*>(into + i));
            _mm256_storeu_ps(there, _mm256_mul_ps(values.low, factor.low));
            _mm256_storeu_ps(there + width / 2, _mm256_mul_ps(values.high, factor.high));
        }
        Portable::widen<Format>(from + i, by, into + i, count - i);
    }

    template <class Format, RoundTo direction>
    WEFT_TARGET static void narrow(const StoredFloat* from, float by, StoredHalf* into,
                                   std::size_t count) {
        const Values divisor = operands<Format>(by, 0);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const auto* const there = static_cast<const float*>(static_cast<const void*>(from + i));
            store<direction>(Format{}, into + i,
                             {_mm256_div_ps(_mm256_loadu_ps(there), divisor.low),
                              _mm256_div_ps(_mm256_loadu_ps(there + width / 2), divisor.high)});
        }
        Portable::narrow<Format, direction>(from + i, by, into + i, count - i);
    }
};

#undef WEFT_TARGET
#undef WEFT_INLINE_TARGET
#define WEFT_TARGET [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#define WEFT_INLINE_TARGET \
    [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline

struct Avx512 {
    struct Values {
        __m512 low, high;
    };
    static constexpr std::size_t width = 32;

    WEFT_INLINE_TARGET static __m512 of(Sum, __m512 a, __m512 b) { return _mm512_add_ps(a, b); }
    WEFT_INLINE_TARGET static __m512 of(Prod, __m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
    WEFT_INLINE_TARGET static __m512 of(Quotient, __m512 a, __m512 b) {
        return _mm512_div_ps(a, b);
    }
    WEFT_INLINE_TARGET static __m512 of(Min, __m512 a, __m512 b) {
        return _mm512_or_ps(_mm512_min_ps(a, b), _mm512_min_ps(b, a));
    }
    WEFT_INLINE_TARGET static __m512 of(Max, __m512 a, __m512 b) {
        const __m512 sign = _mm512_set1_ps(-0.0f);
        return _mm512_xor_ps(of(Min{}, _mm512_xor_ps(a, sign), _mm512_xor_ps(b, sign)), sign);
    }

    WEFT_INLINE_TARGET static __m512 widened(Bfloat16, __m256i half) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
    }
    WEFT_INLINE_TARGET static __m512 widened(Float16, __m256i half) {
        return _mm512_cvtph_ps(half);
    }
    template <class Format>
    WEFT_INLINE_TARGET static Values operands(const StoredHalf* at, std::size_t i) {
        const auto* const parts = static_cast<const __m256i*>(static_cast<const void*>(at + i));
        return {widened(Format{}, _mm256_loadu_si256(parts)),
                widened(Format{}, _mm256_loadu_si256(parts + 1))};
    }
    template <class>
    WEFT_INLINE_TARGET static Values operands(float value, std::size_t) {
        return {_mm512_set1_ps(value), _mm512_set1_ps(value)};
    }

    template <RoundTo direction>
    WEFT_INLINE_TARGET static __m256i narrowed(Bfloat16, __m512 value) {
        const __m512i bits = _mm512_castps_si512(value);
        __m512i add = _mm512_setzero_si512();
        if constexpr (direction == RoundTo::nearest) {
            add = _mm512_add_epi32(
                _mm512_set1_epi32(0x7fff),
                _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1)));
        } else if constexpr (direction == RoundTo::down) {
            add = _mm512_maskz_set1_epi32(_mm512_movepi32_mask(bits), 0xffff);
        } else if constexpr (direction == RoundTo::up) {
            add = _mm512_maskz_set1_epi32(_knot_mask16(_mm512_movepi32_mask(bits)), 0xffff);
        }
        const __m512i half = _mm512_mask_mov_epi32(
            _mm512_srli_epi32(_mm512_add_epi32(bits, add), 16),
            _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), _mm512_set1_epi32(Bfloat16::quiet_nan));
        return _mm512_cvtepi32_epi16(half);
    }
    template <RoundTo>
    WEFT_INLINE_TARGET static __m256i narrowed(Float16, __m512 value) {
        const __m512 quiet =
            _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q),
                               _mm512_set1_ps(__builtin_nanf("")));
        return _mm512_cvtps_ph(quiet, _MM_FROUND_CUR_DIRECTION);
    }
    template <RoundTo direction, class Format>
    WEFT_INLINE_TARGET static void store(Format format, StoredHalf* at, Values values) {
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(at),
                            narrowed<direction>(format, values.low));
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(at + width / 2),
                            narrowed<direction>(format, values.high));
    }

    template <class Format, RoundTo direction, class Function, class Right>
    WEFT_TARGET static void loop(const StoredHalf* left, Right right, StoredHalf* out,
                                 std::size_t count) {
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values a = operands<Format>(left, i);
            const Values b = operands<Format>(right, i);
            store<direction>(Format{}, out + i,
                             {of(Function{}, a.low, b.low), of(Function{}, a.high, b.high)});
        }
        Portable::loop<Format, direction, Function>(left + i, beyond(right, i), out + i, count - i);
    }

    template <class Format>
    WEFT_TARGET static void widen(const StoredHalf* from, float by, StoredFloat* into,
                                  std::size_t count) {
        const Values factor = operands<Format>(by, 0);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values values = operands<Format>(from, i);
            auto* const there = static_cast<float*>(static_cast<void*>(into + i));
            _mm512_storeu_ps(there, _mm512_mul_ps(values.low, factor.low));
            _mm512_storeu_ps(there + width / 2, _mm512_mul_ps(values.high, factor.high));
        }
        Portable::widen<Format>(from + i, by, into + i, count - i);
    }

    template <class Format, RoundTo direction>
    WEFT_TARGET static void narrow(const StoredFloat* from, float by, StoredHalf* into,
                                   std::size_t count) {
        const Values divisor = operands<Format>(by, 0);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const auto* const there = static_cast<const float*>(static_cast<const void*>(from + i));
            store<direction>(Format{}, into + i,
                             {_mm512_div_ps(_mm512_loadu_ps(there), divisor.low),
                              _mm512_div_ps(_mm512_loadu_ps(there + width / 2), divisor.high)});
        }
        Portable::narrow<Format, direction>(from + i, by, into + i, count - i);
    }
};

#undef WEFT_TARGET
#undef WEFT_INLINE_TARGET
#define WEFT_TARGET [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]]

// Sums and products of bfloat16 that are rounded to the nearest. The instruction that converts
// takes subnormal numbers for zero and keeps a part of a NaN's payload: where one of 32 results is
// either, they are converted as without it.
struct Avx512Bf16 : Avx512 {
    template <class Format, RoundTo direction, class Function, class Right>
    WEFT_TARGET static void loop(const StoredHalf* left, Right right, StoredHalf* out,
                                 std::size_t count) {
        constexpr int nan_or_subnormal = 0x01 | 0x20 | 0x80;
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values a = operands<Format>(left, i);
            const Values b = operands<Format>(right, i);
            const Values result = {of(Function{}, a.low, b.low), of(Function{}, a.high, b.high)};
            const bool is_usual =
                _kortestz_mask16_u8(_mm512_fpclass_ps_mask(result.low, nan_or_subnormal),
                                    _mm512_fpclass_ps_mask(result.high, nan_or_subnormal)) != 0;
            if (is_usual) [[likely]] {
                const __m512bh converted = _mm512_cvtne2ps_pbh(result.high, result.low);
                __builtin_memcpy(out + i, &converted, sizeof converted);
            } else {
                store<direction>(Format{}, out + i, result);
            }
        }
        Portable::loop<Format, direction, Function>(left + i, beyond(right, i), out + i, count - i);
    }
};

#undef WEFT_TARGET

#elif defined(__aarch64__)

// Eight elements at a time, in two registers; the rest by the portable version.
struct Neon {
    struct Values {
        float32x4_t low, high;
    };
    static constexpr std::size_t width = 8;

    static float32x4_t of(Sum, float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
    static float32x4_t of(Prod, float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
    static float32x4_t of(Quotient, float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }
    static float32x4_t of(Min, float32x4_t a, float32x4_t b) {
        const uint32x4_t once =
            vbslq_u32(vcltq_f32(a, b), vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b));
        const uint32x4_t twice =
            vbslq_u32(vcltq_f32(b, a), vreinterpretq_u32_f32(b), vreinterpretq_u32_f32(a));
        return vreinterpretq_f32_u32(vorrq_u32(once, twice));
    }
    static float32x4_t of(Max, float32x4_t a, float32x4_t b) {
        return vnegq_f32(of(Min{}, vnegq_f32(a), vnegq_f32(b)));
    }

    // (Bytes: elements may be at any address.)
    static uint8x16_t load(const void* at) {
        return vld1q_u8(static_cast<const std::uint8_t*>(at));
    }
    static void store_bytes(void* at, uint8x16_t bytes) {
        vst1q_u8(static_cast<std::uint8_t*>(at), bytes);
    }

    static float32x4_t widened(Bfloat16, uint16x4_t half) {
        return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(half), 16));
    }
    static float32x4_t widened(Float16, uint16x4_t half) {
        return vcvt_f32_f16(vreinterpret_f16_u16(half));
    }
    template <class Format>
    static Values operands(const StoredHalf* at, std::size_t i) {
        const uint16x8_t half = vreinterpretq_u16_u8(load(at + i));
        return {widened(Format{}, vget_low_u16(half)), widened(Format{}, vget_high_u16(half))};
    }
    template <class>
    static Values operands(float value, std::size_t) {
        return {vdupq_n_f32(value), vdupq_n_f32(value)};
    }

    static uint32x4_t is_nan(float32x4_t value) { return vmvnq_u32(vceqq_f32(value, value)); }

    template <RoundTo direction>
    static uint16x4_t narrowed(Bfloat16, float32x4_t value) {
        const uint32x4_t bits = vreinterpretq_u32_f32(value);
        const uint32x4_t is_negative =
            vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(value), 31));
        const uint32x4_t below = vdupq_n_u32(0xffff);
        uint32x4_t add = vdupq_n_u32(0);
        if constexpr (direction == RoundTo::nearest)
            add = vaddq_u32(vdupq_n_u32(0x7fff), vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1)));
        else if constexpr (direction == RoundTo::down)
            add = vandq_u32(is_negative, below);
        else if constexpr (direction == RoundTo::up)
            add = vbicq_u32(below, is_negative);
        const uint32x4_t half = vshrq_n_u32(vaddq_u32(bits, add), 16);
        return vmovn_u32(vbslq_u32(is_nan(value), vdupq_n_u32(Bfloat16::quiet_nan), half));
    }
    template <RoundTo>
    static uint16x4_t narrowed(Float16, float32x4_t value) {
        const float32x4_t quiet = vbslq_f32(is_nan(value), vdupq_n_f32(__builtin_nanf("")), value);
        return vreinterpret_u16_f16(vcvt_f16_f32(quiet));
    }
    template <RoundTo direction, class Format>
    static void store(Format format, StoredHalf* at, Values values) {
        const uint16x4_t low = narrowed<direction>(format, values.low);
        const uint16x4_t high = narrowed<direction>(format, values.high);
        store_bytes(at, vreinterpretq_u8_u16(vcombine_u16(low, high)));
    }

    template <class Format, RoundTo direction, class Function, class Right>
    static void loop(const StoredHalf* left, Right right, StoredHalf* out, std::size_t count) {
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values a = operands<Format>(left, i);
            const Values b = operands<Format>(right, i);
            store<direction>(Format{}, out + i,
                             {of(Function{}, a.low, b.low), of(Function{}, a.high, b.high)});
        }
        Portable::loop<Format, direction, Function>(left + i, beyond(right, i), out + i, count - i);
    }

    template <class Format>
    static void widen(const StoredHalf* from, float by, StoredFloat* into, std::size_t count) {
        const float32x4_t factor = vdupq_n_f32(by);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const Values values = operands<Format>(from, i);
            store_bytes(into + i, vreinterpretq_u8_f32(vmulq_f32(values.low, factor)));
            store_bytes(into + i + width / 2, vreinterpretq_u8_f32(vmulq_f32(values.high, factor)));
        }
        Portable::widen<Format>(from + i, by, into + i, count - i);
    }

    template <class Format, RoundTo direction>
    static void narrow(const StoredFloat* from, float by, StoredHalf* into, std::size_t count) {
        const float32x4_t divisor = vdupq_n_f32(by);
        std::size_t i = 0;
        for (; i + width <= count; i += width) {
            const float32x4_t low = vreinterpretq_f32_u8(load(from + i));
            const float32x4_t high = vreinterpretq_f32_u8(load(from + i + width / 2));
            store<direction>(Format{}, into + i,
                             {vdivq_f32(low, divisor), vdivq_f32(high, divisor)});
        }
        Portable::narrow<Format, direction>(from + i, by, into + i, count - i);
    }
};

#endif

template <class Loops, class Format, class Function, RoundTo direction>
void combine_halves(const void* left, const void* right, void* out, std::size_t count) {
    Loops::template loop<Format, direction, Function>(halves(left), halves(right), halves(out),
                                                      count);
}

template <class Loops, class Format, class Function, Rounding rounding>
void scale_halves(const void* from, void* into, std::size_t count, double by) {
    const VectorScope here(rounding);
    Loops::template loop<Format, direction_of(rounding), Function>(
        halves(from), static_cast<float>(by), halves(into), count);
}

template <class Loops, class Format, Rounding rounding>
void widen_halves(const void* from, void* into, std::size_t count, double by) {
    const VectorScope here(rounding);
    Loops::template widen<Format>(halves(from), static_cast<float>(by),
                                  static_cast<StoredFloat*>(into), count);
}

template <class Loops, class Format, Rounding rounding>
void narrow_halves(const void* from, void* into, std::size_t count, double by) {
    const VectorScope here(rounding);
    Loops::template narrow<Format, direction_of(rounding)>(
        static_cast<const StoredFloat*>(from), static_cast<float>(by), halves(into), count);
}

using ScalingOfRoundings = std::array<Scaling, roundings>;

struct HalfLoops {
    std::array<std::array<OfRoundings, 5>, 2> combining{};       // by format, op and rounding
    std::array<std::array<ScalingOfRoundings, 2>, 2> scaling{};  // to multiply, to divide
    std::array<ScalingOfRoundings, 2> widening{};                // by format
    std::array<ScalingOfRoundings, 2> narrowing{};
};

template <class Loops, class Format, class Function, Rounding rounding>
constexpr Kernel half_kernel =
    rounded<rounding, combine_halves<Loops, Format, Function, direction_of(rounding)>>;

template <class Loops, class Nearest, class Format, class Function>
constexpr OfRoundings rounding_halves() {
    return {half_kernel<Nearest, Format, Function, Rounding{0}>,
            half_kernel<Loops, Format, Function, Rounding{1}>,
            half_kernel<Loops, Format, Function, Rounding{2}>,
            half_kernel<Loops, Format, Function, Rounding{3}>};
}

// Exact: the direction does not matter.
template <class Loops, class Format, class Function>
constexpr OfRoundings exact_halves() {
    constexpr Kernel kernel = half_kernel<Loops, Format, Function, to_nearest>;
    return {kernel, kernel, kernel, kernel};
}

template <class Loops, class Format, class Function>
constexpr ScalingOfRoundings scaling_halves() {
    return {scale_halves<Loops, Format, Function, Rounding{0}>,
            scale_halves<Loops, Format, Function, Rounding{1}>,
            scale_halves<Loops, Format, Function, Rounding{2}>,
            scale_halves<Loops, Format, Function, Rounding{3}>};
}

template <class Loops, class Format>
constexpr ScalingOfRoundings widening_halves() {
    return {widen_halves<Loops, Format, Rounding{0}>, widen_halves<Loops, Format, Rounding{1}>,
            widen_halves<Loops, Format, Rounding{2}>, widen_halves<Loops, Format, Rounding{3}>};
}

template <class Loops, class Format>
constexpr ScalingOfRoundings narrowing_halves() {
    return {narrow_halves<Loops, Format, Rounding{0}>, narrow_halves<Loops, Format, Rounding{1}>,
            narrow_halves<Loops, Format, Rounding{2}>, narrow_halves<Loops, Format, Rounding{3}>};
}

template <class Loops, class Nearest, class Format>
constexpr std::array<OfRoundings, 5> combining_halves() {
    return {OfRoundings{}, rounding_halves<Loops, Nearest, Format, Sum>(),
            rounding_halves<Loops, Nearest, Format, Prod>(), exact_halves<Loops, Format, Min>(),
            exact_halves<Loops, Format, Max>()};
}

template <class Loops, class Nearest = Loops>
constexpr HalfLoops half_loops() {
    return {
        {combining_halves<Loops, Loops, Float16>(), combining_halves<Loops, Nearest, Bfloat16>()},
        {{{scaling_halves<Loops, Float16, Prod>(), scaling_halves<Loops, Float16, Quotient>()},
          {scaling_halves<Loops, Bfloat16, Prod>(), scaling_halves<Loops, Bfloat16, Quotient>()}}},
        {widening_halves<Loops, Float16>(), widening_halves<Loops, Bfloat16>()},
        {narrowing_halves<Loops, Float16>(), narrowing_halves<Loops, Bfloat16>()}};
}

// By version.
constexpr HalfLoops all_half_loops[loop_versions] = {
    half_loops<Portable>(),
#if defined(__x86_64__)
    half_loops<Avx2>(),
    half_loops<Avx512>(),
    half_loops<Avx512, Avx512Bf16>(),
#elif defined(__aarch64__)
    half_loops<Neon>(),
#endif
};

const HalfLoops& loops_of(LoopVersion version) {
    return all_half_loops[static_cast<std::size_t>(version)];
}

std::size_t format_of(weft_type type) { return type == WEFT_BFLOAT16 ? 1 : 0; }

}  // namespace

Kernel half_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version) {
    const auto& ops = loops_of(version).combining[format_of(type)];
    const auto number = static_cast<std::size_t>(op);
    return number < ops.size() ? ops[number][static_cast<std::size_t>(rounding)] : nullptr;
}

Scaling half_scaling_of(Scale scale, weft_type type, Rounding rounding, LoopVersion version) {
    const auto& scalings = loops_of(version).scaling[format_of(type)];
    return scalings[static_cast<std::size_t>(scale) - 1][static_cast<std::size_t>(rounding)];
}

Scaling widening_of(weft_type type, Rounding rounding, LoopVersion version) {
    return loops_of(version).widening[format_of(type)][static_cast<std::size_t>(rounding)];
}

Scaling narrowing_of(weft_type type, Rounding rounding, LoopVersion version) {
    return loops_of(version).narrowing[format_of(type)][static_cast<std::size_t>(rounding)];
}

}  // namespace weft
