// The loops that scale.
#pragma once

#include "reduce/kernel_types.h"

namespace weft {

// Null for types other than floating-point and complex numbers. REQUIRES: `scale` is not none.
Scaling scaling_of(Scale scale, weft_type type, Rounding rounding);

}  // namespace weft
