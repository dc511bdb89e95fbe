// The built-in reduction kernels, by operation and type.
#pragma once

#include "reduce/reduce.h"

namespace weft {

inline constexpr int type_count = WEFT_INT64_INT32 + 1;
inline constexpr int predefined_op_count = 13;  // WEFT_OP_NULL and the twelve operations

// Null where MPI defines no such reduction. `op` is the value of a predefined handle.
Kernel kernel_of(int op, weft_type type);

}  // namespace weft
