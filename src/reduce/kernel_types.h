// What reductions are made of: loops that combine, loops that scale, and the numbers of types and
// operations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/float_state.h"
#include "weft/types.h"

namespace weft {

// Combines `count` elements: out[i] = left[i] (op) right[i]. `out` is `left` or `right`, or
// overlaps neither.
using Kernel = void (*)(const void* left, const void* right, void* out, std::size_t count);

inline constexpr int type_count = WEFT_COMPLEX128 + 1;
inline constexpr int predefined_op_count = 14;  // WEFT_OP_NULL and the operations of weft/types.h

// Values of predefined handles.
inline constexpr int sum_number = 1;
inline constexpr int prod_number = 2;

// What a reduction does besides combining: it multiplies every operand before, or divides the
// result.
enum class Scale : std::uint8_t { none, multiply, divide };

// Scales `count` elements: into[i] = from[i] * by, or from[i] / by. `into` is `from`, or does not
// overlap it. Types of at most 32 bits take `by` as float32.
using Scaling = void (*)(const void* from, void* into, std::size_t count, double by);

}  // namespace weft
