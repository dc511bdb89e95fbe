// Types, the operations tried on them, and the expected results: a second, simple implementation, element by element.
#pragma once

#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "reduce/half.h"

namespace weft::test::random {

enum class User : std::uint8_t { no, commutes, ordered };

struct Arithmetic {
    std::string name;  // "int32 max"
    weft_type type;
    weft_op op;  // predefined, or null
    User user;
    // An element from 64 random bits; into = from (op) into; whether two are equal.
    void (*make)(std::uint64_t bits, void* element);
    void (*combine)(const void* from, void* into);
    bool (*equal)(const void* left, const void* right);
    // Results depend on the order of the operands, and may differ from the sequential one by rounding;
    // but all ranks have the same bits.
    bool rounds = false;
};

namespace arithmetic {

template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(T value, void* to) {
    std::memcpy(to, &value, sizeof value);
}

template <class T, T (*function)(T, T)>
void combine(const void* from, void* into) {
    store<T>(function(load<T>(from), load<T>(into)), into);
}

template <class T>
bool equal(const void* left, const void* right) {
    return load<T>(left) == load<T>(right);
}

template <class T>
void make_integer(std::uint64_t bits, void* element) {
    store<T>(bits % 4 == 0 ? T{0} : static_cast<T>(bits >> 8), element);  // 0: the logical ones
}

// Sums of these are exact, in any order.
template <class T>
void make_whole(std::uint64_t bits, void* element) {
    store<T>(static_cast<T>(static_cast<int>(bits % 2001) - 1000), element);
}

// Products of these are exact.
template <class T>
void make_power(std::uint64_t bits, void* element) {
    static constexpr T powers[] = {1, 2, T{0.5}, -1, -2};
    store<T>(powers[bits % 5], element);
}

inline void make_real(std::uint64_t bits, void* element) {
    store<double>(static_cast<double>(bits >> 11) * 0x1p-53 + 0x1p-20, element);
}

inline bool nearly_equal(const void* left, const void* right) {
    const double a = load<double>(left);
    const double b = load<double>(right);
    return std::fabs(a - b) <= 1e-12 * std::fabs(b);
}

// In 64 bits, where no overflow affects the bits that are kept.
template <class T>
T sum(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T>
T product(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T real_sum(T a, T b) {
    return a + b;
}
template <class T>
T real_product(T a, T b) {
    return a * b;
}
template <class T>
T least(T a, T b) {
    return b < a ? b : a;
}
template <class T>
T most(T a, T b) {
    return a < b ? b : a;
}
template <class T>
T logical_and(T a, T b) {
    return static_cast<T>(a != 0 && b != 0);
}
template <class T>
T logical_or(T a, T b) {
    return static_cast<T>(a != 0 || b != 0);
}
template <class T>
T logical_xor(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
}
template <class T>
T bit_and(T a, T b) {
    return static_cast<T>(a & b);
}
template <class T>
T bit_or(T a, T b) {
    return static_cast<T>(a | b);
}
template <class T>
T bit_xor(T a, T b) {
    return static_cast<T>(a ^ b);
}

// The 16-bit formats, by their conversions: these numbers' sums are whole and small, and exact.
template <class Format>
std::uint16_t half_of(float value) {
    return Format::template narrow<RoundTo::nearest>(value);
}
template <class Format, float (*function)(float, float)>
std::uint16_t combine_halves(std::uint16_t a, std::uint16_t b) {
    return half_of<Format>(function(Format::widen(a), Format::widen(b)));
}
template <class Format>
void make_small_half(std::uint64_t bits, void* element) {
    store(half_of<Format>(static_cast<float>(static_cast<int>(bits % 9) - 4)), element);
}
template <class Format>
void make_sign_of_half(std::uint64_t bits, void* element) {
    store(half_of<Format>(bits % 2 == 0 ? 1.0f : -1.0f), element);
}
inline void make_rounded_bfloat16(std::uint64_t bits, void* element) {
    store(half_of<Bfloat16>(0.5f + static_cast<float>(bits >> 40) * 0x1p-24f), element);
}
inline bool nearly_equal_bfloat16(const void* left, const void* right) {
    const float a = Bfloat16::widen(load<std::uint16_t>(left));
    const float b = Bfloat16::widen(load<std::uint16_t>(right));
    return std::fabs(a - b) <= 0.15f * std::fabs(b);
}

template <class T>
void make_whole_complex(std::uint64_t bits, void* element) {
    store(std::complex<T>(static_cast<T>(static_cast<int>(bits % 2001) - 1000),
                          static_cast<T>(static_cast<int>(bits >> 32 & 1023))),
          element);
}
// Their products are exact.
template <class T>
void make_unit(std::uint64_t bits, void* element) {
    static constexpr std::complex<T> units[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    store(units[bits % 4], element);
}

// Like the pair types of weft/types.h. Few values, so that many are equal.
template <class T>
struct Pair {
    T value;
    std::int32_t index;

    friend bool operator==(const Pair&, const Pair&) = default;
};
template <class T>
void make_pair(std::uint64_t bits, void* element) {
    Pair<T> pair{static_cast<T>(static_cast<int>(bits % 5) - 2),
                 static_cast<std::int32_t>(bits >> 40)};
    std::memset(element, 0, sizeof pair);
    std::memcpy(element, &pair.value, sizeof pair.value);
    std::memcpy(static_cast<char*>(element) + offsetof(Pair<T>, index), &pair.index,
                sizeof pair.index);
}
template <class T>
Pair<T> least_pair(Pair<T> a, Pair<T> b) {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return a.value < b.value ? a : b;
}
template <class T>
Pair<T> most_pair(Pair<T> a, Pair<T> b) {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return a.value < b.value ? b : a;
}

// The composition of maps x -> a x + b modulo 2^32, packed.
inline std::uint64_t composition(std::uint64_t left, std::uint64_t right) {
    auto a = static_cast<std::uint32_t>((left >> 32) * (right >> 32));
    auto b = static_cast<std::uint32_t>((left >> 32) * (right & 0xffffffffu) + left);
    return std::uint64_t{a} << 32 | b;
}

// 2 x 2 matrices over the integers modulo 16, in 16 bits.
inline std::uint16_t matrix_product(std::uint16_t left, std::uint16_t right) {
    auto at = [](unsigned matrix, unsigned row, unsigned column) {
        return matrix >> (4 * (2 * row + column)) & 15u;
    };
    unsigned product = 0;
    for (unsigned row = 0; row < 2; ++row) {
        for (unsigned column = 0; column < 2; ++column) {
            const unsigned sum =
                at(left, row, 0) * at(right, 0, column) + at(left, row, 1) * at(right, 1, column);
            product |= (sum & 15u) << (4 * (2 * row + column));
        }
    }
    return static_cast<std::uint16_t>(product);
}

// a + b + a b, which commutes and is associative.
inline std::uint32_t circle(std::uint32_t a, std::uint32_t b) { return a + b + a * b; }

template <class T>
void add_integers(std::vector<Arithmetic>& all, const std::string& name, weft_type type) {
    auto add = [&](const char* op_name, weft_op op, void (*combine)(const void*, void*)) {
        all.push_back(
            {name + " " + op_name, type, op, User::no, make_integer<T>, combine, equal<T>});
    };
    if (type != WEFT_BYTE) {
        add("sum", WEFT_SUM, combine<T, sum<T>>);
        add("prod", WEFT_PROD, combine<T, product<T>>);
        add("min", WEFT_MIN, combine<T, least<T>>);
        add("max", WEFT_MAX, combine<T, most<T>>);
        add("land", WEFT_LAND, combine<T, logical_and<T>>);
        add("lor", WEFT_LOR, combine<T, logical_or<T>>);
        add("lxor", WEFT_LXOR, combine<T, logical_xor<T>>);
    }
    add("band", WEFT_BAND, combine<T, bit_and<T>>);
    add("bor", WEFT_BOR, combine<T, bit_or<T>>);
    add("bxor", WEFT_BXOR, combine<T, bit_xor<T>>);
}

template <class T>
void add_reals(std::vector<Arithmetic>& all, const std::string& name, weft_type type) {
    auto add = [&](const char* op_name, weft_op op, void (*make)(std::uint64_t, void*),
                   void (*combine)(const void*, void*)) {
        all.push_back({name + " " + op_name, type, op, User::no, make, combine, equal<T>});
    };
    add("sum", WEFT_SUM, make_whole<T>, combine<T, real_sum<T>>);
    add("prod", WEFT_PROD, make_power<T>, combine<T, real_product<T>>);
    add("min", WEFT_MIN, make_whole<T>, combine<T, least<T>>);
    add("max", WEFT_MAX, make_whole<T>, combine<T, most<T>>);
}

template <class Format>
void add_halves(std::vector<Arithmetic>& all, const std::string& name, weft_type type) {
    using Half = std::uint16_t;
    auto add = [&](const char* op_name, weft_op op, void (*make)(std::uint64_t, void*),
                   void (*combine)(const void*, void*)) {
        all.push_back({name + " " + op_name, type, op, User::no, make, combine, equal<Half>});
    };
    add("sum", WEFT_SUM, make_small_half<Format>,
        combine<Half, combine_halves<Format, real_sum<float>>>);
    add("prod", WEFT_PROD, make_sign_of_half<Format>,
        combine<Half, combine_halves<Format, real_product<float>>>);
    add("min", WEFT_MIN, make_small_half<Format>,
        combine<Half, combine_halves<Format, least<float>>>);
    add("max", WEFT_MAX, make_small_half<Format>,
        combine<Half, combine_halves<Format, most<float>>>);
}

template <class T>
void add_complex(std::vector<Arithmetic>& all, const std::string& name, weft_type type) {
    using Number = std::complex<T>;
    all.push_back({name + " sum", type, WEFT_SUM, User::no, make_whole_complex<T>,
                   combine<Number, real_sum<Number>>, equal<Number>});
    all.push_back({name + " prod", type, WEFT_PROD, User::no, make_unit<T>,
                   combine<Number, real_product<Number>>, equal<Number>});
}

template <class T>
void add_pairs(std::vector<Arithmetic>& all, const std::string& name, weft_type type) {
    all.push_back({name + " minloc", type, WEFT_MINLOC, User::no, make_pair<T>,
                   combine<Pair<T>, least_pair<T>>, equal<Pair<T>>});
    all.push_back({name + " maxloc", type, WEFT_MAXLOC, User::no, make_pair<T>,
                   combine<Pair<T>, most_pair<T>>, equal<Pair<T>>});
}

inline std::vector<Arithmetic> make_all() {
    std::vector<Arithmetic> all;
    add_integers<std::uint8_t>(all, "byte", WEFT_BYTE);
    add_integers<std::int8_t>(all, "int8", WEFT_INT8);
    add_integers<std::int16_t>(all, "int16", WEFT_INT16);
    add_integers<std::int32_t>(all, "int32", WEFT_INT32);
    add_integers<std::int64_t>(all, "int64", WEFT_INT64);
    add_integers<std::uint8_t>(all, "uint8", WEFT_UINT8);
    add_integers<std::uint16_t>(all, "uint16", WEFT_UINT16);
    add_integers<std::uint32_t>(all, "uint32", WEFT_UINT32);
    add_integers<std::uint64_t>(all, "uint64", WEFT_UINT64);
    add_reals<float>(all, "float32", WEFT_FLOAT32);
    add_reals<double>(all, "float64", WEFT_FLOAT64);
    add_halves<Float16>(all, "float16", WEFT_FLOAT16);
    add_halves<Bfloat16>(all, "bfloat16", WEFT_BFLOAT16);
    add_complex<float>(all, "complex64", WEFT_COMPLEX64);
    add_complex<double>(all, "complex128", WEFT_COMPLEX128);
    add_pairs<float>(all, "float32_int32", WEFT_FLOAT32_INT32);
    add_pairs<double>(all, "float64_int32", WEFT_FLOAT64_INT32);
    add_pairs<std::int32_t>(all, "int32_int32", WEFT_INT32_INT32);
    add_pairs<std::int64_t>(all, "int64_int32", WEFT_INT64_INT32);
    all.push_back({"float64 rounding sum", WEFT_FLOAT64, WEFT_SUM, User::no, make_real,
                   combine<double, real_sum<double>>, nearly_equal, true});
    all.push_back({"bfloat16 rounding sum", WEFT_BFLOAT16, WEFT_SUM, User::no,
                   make_rounded_bfloat16,
                   combine<std::uint16_t, combine_halves<Bfloat16, real_sum<float>>>,
                   nearly_equal_bfloat16, true});
    all.push_back({"uint64 composition", WEFT_UINT64, WEFT_OP_NULL, User::ordered,
                   make_integer<std::uint64_t>, combine<std::uint64_t, composition>,
                   equal<std::uint64_t>});
    all.push_back({"uint16 matrix product", WEFT_UINT16, WEFT_OP_NULL, User::ordered,
                   make_integer<std::uint16_t>, combine<std::uint16_t, matrix_product>,
                   equal<std::uint16_t>});
    all.push_back({"uint32 circle", WEFT_UINT32, WEFT_OP_NULL, User::commutes,
                   make_integer<std::uint32_t>, combine<std::uint32_t, circle>,
                   equal<std::uint32_t>});
    return all;
}

}  // namespace arithmetic

inline const std::vector<Arithmetic>& arithmetics() {
    static const std::vector<Arithmetic> all = arithmetic::make_all();
    return all;
}

// The last ones need more care than the predefined exact ones, and are tried as often as all others together.
inline constexpr std::size_t special_arithmetics = 5;

// The function given to weft_op_create; its context is the Arithmetic.
inline void apply_user_op(const void* in, void* inout, size_t count, weft_type type,
                          void* context) {
    const auto& arithmetic = *static_cast<const Arithmetic*>(context);
    const std::size_t element = weft_type_size(type);
    for (std::size_t i = 0; i < count; ++i) {
        arithmetic.combine(static_cast<const char*>(in) + i * element,
                           static_cast<char*>(inout) + i * element);
    }
}

}  // namespace weft::test::random
