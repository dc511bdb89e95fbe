// The kernels of the 16-bit formats.
//
// Operands are combined in float32, and the result is rounded once, in the direction of the
// reduction.
#pragma once

#include "reduce/kernel_types.h"
#include "reduce/versions.h"

namespace weft {

// Null if there is no such kernel. REQUIRES: `type` is a 16-bit format; this processor can run
// `version`.
Kernel half_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version);
Scaling half_scaling_of(Scale scale, weft_type type, Rounding rounding, LoopVersion version);

// into[i] = from[i] * by, where `from` has 16-bit elements and `into` float32; and into[i] =
// from[i] / by, the other way.
Scaling widening_of(weft_type type, Rounding rounding, LoopVersion version);
Scaling narrowing_of(weft_type type, Rounding rounding, LoopVersion version);

}  // namespace weft
