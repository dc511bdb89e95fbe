// The built-in reduction kernels, by operation and type.
#pragma once

#include "reduce/kernel_types.h"
#include "reduce/versions.h"

namespace weft {

// Null if there is no such reduction. `op` is the value of a predefined handle. (An average is a
// sum that is also scaled.)
Kernel kernel_of(int op, weft_type type, Rounding rounding);

// A version of the kernel of a type from WEFT_FLOAT16 on. REQUIRES: this processor can run it.
Kernel versioned_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version);

}  // namespace weft
