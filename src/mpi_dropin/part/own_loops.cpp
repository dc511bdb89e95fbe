#include "mpi_dropin/part/own_loops.h"

#include <cstddef>
#include <cstring>
#include <limits>

namespace weft::dropin {
namespace {

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Of a number in memory: what lies behind a long double of x86 stays as it is.
template <class T>
constexpr std::size_t bytes_of_value = std::numeric_limits<T>::digits == 64 &&
                                               std::numeric_limits<T>::is_iec559
                                           ? 10
                                           : sizeof(T);

// Combines the `parts` numbers of every element one by one.
template <class T, std::size_t parts, T (*combined)(T, T)>
void by_parts(const void* in, void* inout, std::size_t count, weft_type, void*) {
    const auto* from = static_cast<const std::byte*>(in);
    auto* into = static_cast<std::byte*>(inout);
    for (std::size_t i = 0; i < parts * count; ++i) {
        const T result = combined(load<T>(from + i * sizeof(T)), load<T>(into + i * sizeof(T)));
        std::memcpy(into + i * sizeof(T), &result, bytes_of_value<T>);
    }
}

template <class T>
T sum(T a, T b) {
    return a + b;
}
template <class T>
T product(T a, T b) {
    return a * b;
}
template <class T>
T least(T a, T b) {
    return a < b ? a : b;
}
template <class T>
T most(T a, T b) {
    return a > b ? a : b;
}

// Values with an index behind them: of equal values the one with the lower index.
template <class T, bool is_max>
void locate(const void* in, void* inout, std::size_t count, weft_type, void*) {
    constexpr std::size_t bytes = sizeof(T) + sizeof(int);
    const auto* from = static_cast<const std::byte*>(in);
    auto* into = static_cast<std::byte*>(inout);
    for (std::size_t i = 0; i < count; ++i, from += bytes, into += bytes) {
        const T left = load<T>(from);
        const T right = load<T>(into);
        const bool is_before = is_max ? left > right : left < right;
        const bool is_lower = load<int>(from + sizeof(T)) < load<int>(into + sizeof(T));
        if (is_before || (left == right && is_lower)) std::memcpy(into, from, bytes);
    }
}

}  // namespace

weft_op_function own_loop(weft_op op, OwnElement element) {
    using Long = long double;
    switch (element) {
        case OwnElement::none: return nullptr;
        case OwnElement::long_double:
            if (op == WEFT_SUM) return by_parts<Long, 1, sum<Long>>;
            if (op == WEFT_PROD) return by_parts<Long, 1, product<Long>>;
            if (op == WEFT_MIN) return by_parts<Long, 1, least<Long>>;
            return op == WEFT_MAX ? by_parts<Long, 1, most<Long>> : nullptr;
        case OwnElement::long_double_complex:
            return op == WEFT_SUM ? by_parts<Long, 2, sum<Long>> : nullptr;
        case OwnElement::short_int:
            if (op == WEFT_MINLOC) return locate<short, false>;
            return op == WEFT_MAXLOC ? locate<short, true> : nullptr;
        case OwnElement::long_double_int:
            if (op == WEFT_MINLOC) return locate<Long, false>;
            return op == WEFT_MAXLOC ? locate<Long, true> : nullptr;
    }
    return nullptr;
}

}  // namespace weft::dropin
