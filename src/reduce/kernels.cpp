// One loop for all kernels, and the table of those that exist.
//
// Minimum and maximum do not depend on the order of the operands: with floating-point, a NaN on
// either side gives a NaN, and -0 is less than +0. With minloc and maxloc, a NaN wins, and of equal
// values the one with the lower index.
#include "reduce/kernels.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft {
namespace {

// Signed arithmetic uses unsigned types, where overflow wraps. Types narrower than int would be
// promoted to (signed) int.
template <class T>
auto wrapping(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return value;
    } else if constexpr (sizeof(T) < sizeof(std::uint32_t)) {
        return static_cast<std::uint32_t>(value);
    } else {
        return static_cast<std::make_unsigned_t<T>>(value);
    }
}

template <class T>
auto bits(T value) {
    if constexpr (sizeof(T) == 4) {
        return std::bit_cast<std::uint32_t>(value);
    } else {
        return std::bit_cast<std::uint64_t>(value);
    }
}

struct Sum {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(wrapping(a) + wrapping(b));
    }
};

struct Prod {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(wrapping(a) * wrapping(b));
    }
};

// Taking the minimum twice, with the operands in either order, gives different results only for
// zeros of both signs and for NaNs. The bitwise or of the two results is then the negative zero, or
// a NaN (its exponent stays all ones), in either order: three vector instructions.
template <class T>
T least_of(T a, T b) {
    T once = a < b ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
        T twice = b < a ? b : a;
        return std::bit_cast<T>(bits(once) | bits(twice));
    } else {
        return once;
    }
}

struct Min {
    template <class T>
    static T of(T a, T b) {
        return least_of(a, b);
    }
};

struct Max {
    template <class T>
    static T of(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            return -least_of(-a, -b);
        } else {
            return a > b ? a : b;
        }
    }
};

struct LogicalAnd {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>((a != 0) & (b != 0));
    }
};

struct LogicalOr {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>((a != 0) | (b != 0));
    }
};

struct LogicalXor {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>((a != 0) ^ (b != 0));
    }
};

struct BitAnd {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a & b);
    }
};

struct BitOr {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a | b);
    }
};

struct BitXor {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a ^ b);
    }
};

// An element in a buffer: at any address, whatever its type is in the program.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Stored {
    T element;
};

// `out` is exactly `left` or `right`, or overlaps neither: no two iterations touch the same bytes.
template <class T, class Function>
[[gnu::noinline]] void combine(const void* left, const void* right, void* out, std::size_t count) {
    const auto* l = static_cast<const Stored<T>*>(left);
    const auto* r = static_cast<const Stored<T>*>(right);
    auto* o = static_cast<Stored<T>*>(out);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) o[i].element = Function::of(l[i].element, r[i].element);
}

template <class Value>
struct Pair {
    Value value;
    std::int32_t index;
};

struct Less {
    template <class T>
    static bool of(T a, T b) {
        return a < b;
    }
};

struct Greater {
    template <class T>
    static bool of(T a, T b) {
        return a > b;
    }
};

template <class Before, class Value>
bool wins(const Stored<Pair<Value>>& a, const Stored<Pair<Value>>& b) {
    const Value a_value = a.element.value;
    const Value b_value = b.element.value;
    bool a_is_nan = a_value != a_value;
    bool b_is_nan = b_value != b_value;
    if (a_is_nan != b_is_nan) return a_is_nan;
    if (Before::of(a_value, b_value)) return true;
    if (Before::of(b_value, a_value)) return false;
    return a.element.index <= b.element.index;
}

// Moves whole structs, so that the padding is the same on every rank as well.
template <class Value, class Before>
[[gnu::noinline]] void locate(const void* left, const void* right, void* out, std::size_t count) {
    const auto* l = static_cast<const Stored<Pair<Value>>*>(left);
    const auto* r = static_cast<const Stored<Pair<Value>>*>(right);
    auto* o = static_cast<Stored<Pair<Value>>*>(out);
    for (std::size_t i = 0; i < count; ++i) {
        const Stored<Pair<Value>>* winner = wins<Before>(l[i], r[i]) ? l + i : r + i;
        if (winner != o + i) std::memcpy(o + i, winner, sizeof *winner);
    }
}

// Every kernel that looks at a floating-point number: subnormal ones might also compare as zeros.
template <Rounding rounding, Kernel kernel>
void rounded(const void* left, const void* right, void* out, std::size_t count) {
    const VectorScope here(rounding);
    kernel(left, right, out, count);
}

using Row = std::array<Kernel, type_count>;

template <class Function>
constexpr Row integers() {
    Row row{};
    row[WEFT_INT8] = combine<std::int8_t, Function>;
    row[WEFT_INT16] = combine<std::int16_t, Function>;
    row[WEFT_INT32] = combine<std::int32_t, Function>;
    row[WEFT_INT64] = combine<std::int64_t, Function>;
    row[WEFT_UINT8] = combine<std::uint8_t, Function>;
    row[WEFT_UINT16] = combine<std::uint16_t, Function>;
    row[WEFT_UINT32] = combine<std::uint32_t, Function>;
    row[WEFT_UINT64] = combine<std::uint64_t, Function>;
    return row;
}

template <Rounding rounding, class Function>
constexpr Row numbers() {
    Row row = integers<Function>();
    row[WEFT_FLOAT32] = rounded<rounding, combine<float, Function>>;
    row[WEFT_FLOAT64] = rounded<rounding, combine<double, Function>>;
    return row;
}

template <class Function>
constexpr Row integers_and_bytes() {
    Row row = integers<Function>();
    row[WEFT_BYTE] = combine<std::uint8_t, Function>;
    return row;
}

template <class Before>
constexpr Row pairs() {
    Row row{};
    row[WEFT_FLOAT32_INT32] = rounded<to_nearest, locate<float, Before>>;
    row[WEFT_FLOAT64_INT32] = rounded<to_nearest, locate<double, Before>>;
    row[WEFT_INT32_INT32] = locate<std::int32_t, Before>;
    row[WEFT_INT64_INT32] = locate<std::int64_t, Before>;
    return row;
}

// In the order of the predefined handles; the first is WEFT_OP_NULL.
template <Rounding rounding>
constexpr std::array<Row, predefined_op_count> kernels = {
    Row{},
    numbers<rounding, Sum>(),
    numbers<rounding, Prod>(),
    numbers<to_nearest, Min>(),
    numbers<to_nearest, Max>(),
    integers<LogicalAnd>(),
    integers<LogicalOr>(),
    integers<LogicalXor>(),
    integers_and_bytes<BitAnd>(),
    integers_and_bytes<BitOr>(),
    integers_and_bytes<BitXor>(),
    pairs<Less>(),
    pairs<Greater>(),
};
constexpr const std::array<Row, predefined_op_count>* by_rounding[roundings] = {
    &kernels<Rounding{0}>, &kernels<Rounding{1}>, &kernels<Rounding{2}>, &kernels<Rounding{3}>};

}  // namespace

Kernel kernel_of(int op, weft_type type, Rounding rounding) {
    const auto& kernels_there = *by_rounding[static_cast<std::size_t>(rounding)];
    return kernels_there[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

}  // namespace weft
