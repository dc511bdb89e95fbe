// The kernels of complex numbers: sums, which are those of their parts, and products.
#pragma once

#include "reduce/kernel_types.h"
#include "reduce/versions.h"

namespace weft {

// Null if there is no such kernel. REQUIRES: `type` is complex; this processor can run `version`.
Kernel complex_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version);

}  // namespace weft
