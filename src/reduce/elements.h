// What the loops that combine vectors are made of: elements as buffers hold them, and the functions
// of two numbers.
//
// Minimum and maximum do not depend on the order of the operands: with floating-point, a NaN on
// either side gives a NaN, and -0 is less than +0.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/float_state.h"
#include "reduce/kernel_types.h"

namespace weft {

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

// Of floating-point numbers.
struct Quotient {
    template <class T>
    static T of(T a, T b) {
        return a / b;
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

// An element in a buffer: at any address, whatever its type is in the program.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Stored {
    T element;
};

// Every kernel that looks at a floating-point number: subnormal ones might also compare as zeros.
template <Rounding rounding, Kernel kernel>
void rounded(const void* left, const void* right, void* out, std::size_t count) {
    const VectorScope here(rounding);
    kernel(left, right, out, count);
}

// A kernel for each direction of rounding.
using OfRoundings = std::array<Kernel, roundings>;

template <Kernel kernel>
constexpr OfRoundings rounding_kernels = {
    rounded<Rounding{0}, kernel>, rounded<Rounding{1}, kernel>, rounded<Rounding{2}, kernel>,
    rounded<Rounding{3}, kernel>};

}  // namespace weft
