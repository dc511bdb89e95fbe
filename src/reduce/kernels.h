// The built-in reduction kernels, by operation and type.
#pragma once

#include <cstddef>

#include "base/float_state.h"
#include "weft/types.h"

namespace weft {

// Combines `count` elements: out[i] = left[i] (op) right[i]. `out` is `left` or `right`, or
// overlaps neither.
using Kernel = void (*)(const void* left, const void* right, void* out, std::size_t count);

inline constexpr int type_count = WEFT_INT64_INT32 + 1;
inline constexpr int predefined_op_count = 13;  // WEFT_OP_NULL and the twelve operations

// Null if MPI defines no such reduction. `op` is the value of a predefined handle.
Kernel kernel_of(int op, weft_type type, Rounding rounding);

}  // namespace weft
