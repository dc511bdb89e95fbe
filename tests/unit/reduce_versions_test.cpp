// Reductions of the 16-bit formats and of complex numbers: what they compute, by a second
// implementation, and that all versions of a loop give the same bits.
#include <cfenv>
#include <complex>

#include "base/random.h"
#include "reduce/half_kernels.h"
#include "reduce/kernels.h"
#include "reduce/reduce.h"
#include "reduce/versions.h"
#include "support/float_states.h"
#include "support/test.h"

namespace weft::reduce_versions_test {

using Half = std::uint16_t;
using Halves = std::vector<Half>;

// A format by its definition.
struct Format {
    weft_type type;
    int fraction_bits;
    int exponent_bias;
    Half infinity;
    Half quiet_nan;

    bool is_nan(Half half) const { return (half & 0x7fff) > infinity; }
    // Infinity's is the next power of two: that of the number to which an overflow is rounded.
    double value(Half half) const {
        const int exponent = (half & 0x7fff) >> fraction_bits;
        const int fraction = half & ((1 << fraction_bits) - 1);
        const int hidden = exponent == 0 ? 0 : 1 << fraction_bits;
        const double magnitude =
            std::ldexp(hidden + fraction, std::max(exponent, 1) - exponent_bias - fraction_bits);
        return (half & 0x8000) != 0 ? -magnitude : magnitude;
    }
};
constexpr Format float16 = {WEFT_FLOAT16, 10, 15, 0x7c00, 0x7e00};
constexpr Format bfloat16 = {WEFT_BFLOAT16, 7, 127, 0x7f80, 0x7fc0};
constexpr const Format* formats[] = {&float16, &bfloat16};

constexpr int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

// The float32 as an element of the format, rounded in a direction of <fenv.h>.
Half rounded(const Format& format, float value, int direction) {
    if (std::isnan(value)) return format.quiet_nan;
    const Half sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isinf(value)) return static_cast<Half>(sign | format.infinity);
    const double magnitude = std::fabs(static_cast<double>(value));
    // The largest element that is not above the magnitude.
    Half below = 0;
    for (int bit = 1 << 14; bit != 0; bit >>= 1) {
        const Half next = static_cast<Half>(below | bit);
        if (next < format.infinity && format.value(next) <= magnitude) below = next;
    }
    const double rest = magnitude - format.value(below);
    if (rest == 0) return static_cast<Half>(sign | below);
    const double half_unit = (format.value(static_cast<Half>(below + 1)) - format.value(below)) / 2;
    const bool is_away = direction == (sign != 0 ? FE_DOWNWARD : FE_UPWARD);
    const bool is_nearer =
        direction == FE_TONEAREST && (rest > half_unit || (rest == half_unit && (below & 1) != 0));
    return static_cast<Half>(sign | (below + (is_away || is_nearer ? 1 : 0)));
}

// As a float32; a NaN is one.
float widened(const Format& format, Half half) {
    if (format.is_nan(half)) return std::numeric_limits<float>::quiet_NaN();
    if ((half & 0x7fff) == format.infinity)
        return std::copysign(std::numeric_limits<float>::infinity(), half >= 0x8000 ? -1.0f : 1.0f);
    return static_cast<float>(format.value(half));
}

// Of float32, in the direction of this thread. (Volatile: computed here and now.)
float combined(int op, float a, float b) {
    volatile float left = a;
    volatile float right = b;
    volatile float result = 0;
    if (op == 1) result = left + right;
    if (op == 2) result = left * right;
    if (op < 3) return result;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
    if (a == b) return (op == 3) == std::signbit(a) ? a : b;  // of zeros, the negative is less
    return (op == 3) == (a < b) ? a : b;
}

// Zeros, the borders of subnormal numbers, of infinity and of NaNs, ones, and what is rounded.
Halves interesting(const Format& format) {
    const auto one = static_cast<Half>(format.exponent_bias << format.fraction_bits);
    const auto least_normal = static_cast<Half>(1 << format.fraction_bits);
    Halves all = {0,
                  1,
                  2,
                  3,
                  static_cast<Half>(least_normal - 1),
                  least_normal,
                  static_cast<Half>(least_normal + 1),
                  static_cast<Half>(one - least_normal),
                  static_cast<Half>(one - 1),
                  one,
                  static_cast<Half>(one + 1),
                  static_cast<Half>(one + 3),
                  static_cast<Half>(one + least_normal * (format.fraction_bits + 1)),
                  static_cast<Half>(format.infinity - 1),
                  format.infinity,
                  static_cast<Half>(format.infinity + 1),  // a signalling NaN
                  static_cast<Half>(format.quiet_nan + 5),
                  0x7fff};
    const std::size_t positive = all.size();
    for (std::size_t i = 0; i < positive; ++i) all.push_back(static_cast<Half>(all[i] | 0x8000));
    return all;
}

// Calls `body(from, into)`: every element with an interesting one, and random pairs.
template <class Body>
void for_many_pairs(const Format& format, const Halves& with, Body body) {
    Halves from(0x10000);
    Halves into(0x10000);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Half>(i);
    for (const Half half : with) {
        std::fill(into.begin(), into.end(), half);
        body(from, into);
    }
    Prng random(static_cast<std::uint64_t>(format.type));
    for (Half& half : from) half = static_cast<Half>(random.next());
    for (Half& half : into) half = static_cast<Half>(random.next());
    body(from, into);
}

std::vector<LoopVersion> versions() {
    std::vector<LoopVersion> all;
    for (unsigned v = 0; v <= static_cast<unsigned>(best_loops()); ++v)
        all.push_back(static_cast<LoopVersion>(v));
    return all;
}

const char* name_of(LoopVersion version) {
    return loop_version_names[static_cast<unsigned>(version)];
}

std::string hex(Half half) {
    char text[8];
    std::snprintf(text, sizeof text, "%04x", half);
    return text;
}

void expect_equal(const Halves& got, const Halves& expected, const Halves& from, const Halves& into,
                  const std::string& what) {
    if (got == expected) return;
    std::size_t i = 0;
    while (got[i] == expected[i]) ++i;
    ADD_FAILURE() << what << " of " << hex(from[i]) << " and " << hex(into[i]) << " is "
                  << hex(got[i]) << "; expected " << hex(expected[i]);
}

TEST(ReduceVersions, HalvesAreCombinedInFloat32AndRoundedOnce) {
    for (const Format* format : formats) {
        const Halves some = interesting(*format);
        for (int direction = 0; direction < 4; ++direction) {
            std::fesetround(directions[direction]);
            const Rounding rounding = rounding_now();
            for (int op = 1; op <= 4; ++op) {
                Halves from;
                Halves into;
                for (const Half left : some) {
                    for (const Half right : some) {
                        from.push_back(left);
                        into.push_back(right);
                    }
                }
                Prng random(static_cast<std::uint64_t>(op));
                for (int i = 0; i < 5000; ++i) {
                    from.push_back(static_cast<Half>(random.next()));
                    into.push_back(static_cast<Half>(random.next()));
                }
                Halves expected;
                for (std::size_t i = 0; i < from.size(); ++i) {
                    const float result =
                        combined(op, widened(*format, from[i]), widened(*format, into[i]));
                    expected.push_back(rounded(*format, result, directions[direction]));
                }
                for (const LoopVersion version : versions()) {
                    Halves got(from.size());
                    versioned_kernel_of(op, format->type, rounding, version)(
                        from.data(), into.data(), got.data(), got.size());
                    expect_equal(got, expected, from, into,
                                 std::string(name_of(version)) + " " + type_name(format->type) +
                                     " op " + std::to_string(op) + " direction " +
                                     std::to_string(direction));
                }
            }
        }
    }
    std::fesetround(FE_TONEAREST);
}

TEST(ReduceVersions, AllVersionsGiveTheSameBitsForAllHalves) {
    for (const Format* format : formats) {
        for_many_pairs(*format, interesting(*format), [&](const Halves& from, const Halves& into) {
            Halves expected(from.size());
            Halves got(from.size());
            for (unsigned direction = 0; direction < roundings; ++direction) {
                const auto rounding = static_cast<Rounding>(direction);
                for (int op = 1; op <= 4; ++op) {
                    for (const LoopVersion version : versions()) {
                        Halves& out = version == LoopVersion::portable ? expected : got;
                        versioned_kernel_of(op, format->type, rounding, version)(
                            from.data(), into.data(), out.data(), out.size());
                        if (version == LoopVersion::portable) continue;
                        expect_equal(got, expected, from, into,
                                     std::string(name_of(version)) + " " + type_name(format->type) +
                                         " op " + std::to_string(op) + " rounding " +
                                         std::to_string(direction));
                    }
                }
            }
        });
    }
}

// The rest that does not fill a vector, and elements at odd addresses, onto themselves.
TEST(ReduceVersions, VectorsOfHalvesOfAnyLengthAndPlace) {
    Prng random(7);
    for (const Format* format : formats) {
        for (std::size_t count = 0; count < 70; ++count) {
            Halves from(count);
            Halves into(count);
            for (Half& half : from) half = static_cast<Half>(random.next());
            for (Half& half : into) half = static_cast<Half>(random.next());
            Halves expected(count);
            versioned_kernel_of(1, format->type, to_nearest, LoopVersion::portable)(
                from.data(), into.data(), expected.data(), count);
            for (const LoopVersion version : versions()) {
                const std::size_t bytes = count * sizeof(Half);
                std::vector<std::byte> from_aside(bytes + 1);
                std::vector<std::byte> into_aside(bytes + 4, std::byte{0x5a});
                std::copy_n(reinterpret_cast<const std::byte*>(from.data()), bytes,
                            from_aside.begin() + 1);
                std::copy_n(reinterpret_cast<const std::byte*>(into.data()), bytes,
                            into_aside.begin() + 3);
                versioned_kernel_of(1, format->type, to_nearest, version)(
                    from_aside.data() + 1, into_aside.data() + 3, into_aside.data() + 3, count);
                EXPECT_TRUE(std::equal(into_aside.begin() + 3, into_aside.end() - 1,
                                       reinterpret_cast<const std::byte*>(expected.data())))
                    << name_of(version) << ", " << count << " elements";
                EXPECT_EQ(into_aside[2], std::byte{0x5a});
                EXPECT_EQ(into_aside.back(), std::byte{0x5a});
            }
        }
    }
}

TEST(ReduceVersions, HalvesAreScaledInFloat32AndRoundedOnce) {
    for (const Format* format : formats) {
        for (const Scale scale : {Scale::multiply, Scale::divide}) {
            for (const double by : {3.0, 0.125, 257.0}) {
                for (int direction = 0; direction < 4; ++direction) {
                    std::fesetround(directions[direction]);
                    const Rounding rounding = rounding_now();
                    Halves from(0x10000);
                    Halves expected(from.size());
                    for (std::size_t i = 0; i < from.size(); ++i) {
                        from[i] = static_cast<Half>(i);
                        volatile float operand = widened(*format, from[i]);
                        volatile auto factor = static_cast<float>(by);
                        const float result =
                            scale == Scale::multiply ? operand * factor : operand / factor;
                        expected[i] = rounded(*format, result, directions[direction]);
                    }
                    for (const LoopVersion version : versions()) {
                        Halves got(from.size());
                        half_scaling_of(scale, format->type, rounding, version)(
                            from.data(), got.data(), got.size(), by);
                        expect_equal(got, expected, from, from,
                                     std::string(name_of(version)) + " scaled " +
                                         type_name(format->type) + " by " + std::to_string(by));
                    }
                }
            }
        }
    }
    std::fesetround(FE_TONEAREST);
}

template <class T>
void expect_equal_products(weft_type type) {
    using Number = std::complex<T>;
    using Limits = std::numeric_limits<T>;
    const T parts[] = {0,
                       -T{0},
                       1,
                       -T{1.5},
                       T{1} / 3,
                       Limits::denorm_min(),
                       -Limits::min(),
                       Limits::max(),
                       -Limits::max(),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       -Limits::signaling_NaN()};
    std::vector<Number> some;
    for (const T real : parts)
        for (const T imaginary : parts) some.emplace_back(real, imaginary);
    Prng random(3);
    for (int i = 0; i < 200; ++i) {
        const auto part = [&] { return static_cast<T>(random.next() >> 12) * T{0x1p-50f} - 1; };
        const T real = part();
        some.emplace_back(real, part());
    }
    std::vector<Number> from;
    std::vector<Number> into;
    for (const Number& left : some) {
        for (const Number& right : some) {
            from.push_back(left);
            into.push_back(right);
        }
    }
    for (int direction : directions) {
        std::fesetround(direction);
        std::vector<Number> expected;
        for (std::size_t i = 0; i < from.size(); ++i) {
            volatile T a = from[i].real();
            volatile T b = from[i].imag();
            volatile T c = into[i].real();
            volatile T d = into[i].imag();
            volatile T products[] = {a * c, b * d, b * c, a * d};
            T real = products[0] - products[1];
            T imaginary = products[2] + products[3];
            if (std::isnan(real)) real = Limits::quiet_NaN();
            if (std::isnan(imaginary)) imaginary = Limits::quiet_NaN();
            expected.emplace_back(real, imaginary);
        }
        for (const LoopVersion version : versions()) {
            std::vector<Number> got(from.size());
            versioned_kernel_of(2, type, rounding_now(), version)(from.data(), into.data(),
                                                                  got.data(), got.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(Number)), 0)
                    << name_of(version) << ": the product of " << from[i] << " and " << into[i]
                    << " is " << got[i] << "; expected " << expected[i];
            }
        }
    }
    std::fesetround(FE_TONEAREST);
}

TEST(ReduceVersions, ComplexProductsAreOfRoundedProductsInAllVersions) {
    expect_equal_products<float>(WEFT_COMPLEX64);
    expect_equal_products<double>(WEFT_COMPLEX128);
}

TEST(ReduceVersions, ComplexNumbersAreAddedByParts) {
    const std::complex<float> from[] = {{1, -2}, {0.5f, 4}, {-1, 1}};
    std::complex<float> into[] = {{10, 20}, {1, 1}, {1, -1}};
    bind_reduction(WEFT_SUM, WEFT_COMPLEX64)->apply(from, into, sizeof into);
    EXPECT_EQ(into[0], std::complex<float>(11, 18));
    EXPECT_EQ(into[1], std::complex<float>(1.5f, 5));
    EXPECT_EQ(into[2], std::complex<float>(0, 0));
}

// Whatever state the combining thread is in.
TEST(ReduceVersions, DoNotDependOnTheStateOfFloatingPointArithmetic) {
    for (const Format* format : formats) {
        const Halves with = {1, 0x0083, 0x3f81, format->infinity, 0xffff};
        for (const weft_op op : {WEFT_SUM, WEFT_PROD, WEFT_MIN, WEFT_MAX}) {
            const Reduction reduction = *bind_reduction(op, format->type);
            for_many_pairs(*format, with, [&](const Halves& from, const Halves& into) {
                Halves expected = into;
                reduction.apply(from.data(), expected.data(), expected.size() * sizeof(Half));
                for (int state = 1; state < test::float_states; ++state) {
                    Halves got = into;
                    test::set_float_state(state);
                    const test::FloatState before = test::float_state();
                    reduction.apply(from.data(), got.data(), got.size() * sizeof(Half));
                    const test::FloatState after = test::float_state();
                    test::set_float_state(0);
                    EXPECT_EQ(before, after) << "state " << state << " is not as before";
                    expect_equal(got, expected, from, into,
                                 std::string(op_name(op)) + " of " + type_name(format->type) +
                                     " in state " + std::to_string(state));
                }
            });
        }
    }
}

}  // namespace weft::reduce_versions_test
