// One loop for all kernels, and the table of those that exist.
//
// With minloc and maxloc, a NaN wins, and of equal values the one with the lower index.
#include "reduce/kernels.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "reduce/complex_kernels.h"
#include "reduce/elements.h"
#include "reduce/half_kernels.h"

namespace weft {
namespace {

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

// In the order of the predefined handles; the first is WEFT_OP_NULL, the last WEFT_AVG.
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
    Row{},
};
constexpr const std::array<Row, predefined_op_count>* by_rounding[roundings] = {
    &kernels<Rounding{0}>, &kernels<Rounding{1}>, &kernels<Rounding{2}>, &kernels<Rounding{3}>};

}  // namespace

Kernel versioned_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version) {
    const bool is_half = type == WEFT_FLOAT16 || type == WEFT_BFLOAT16;
    return is_half ? half_kernel_of(op, type, rounding, version)
                   : complex_kernel_of(op, type, rounding, version);
}

Kernel kernel_of(int op, weft_type type, Rounding rounding) {
    if (type > WEFT_INT64_INT32) [[unlikely]] {
        return versioned_kernel_of(op, type, rounding, best_loops());
    }
    const auto& kernels_there = *by_rounding[static_cast<std::size_t>(rounding)];
    return kernels_there[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

}  // namespace weft
