// Random bytes that nobody can guess, from the kernel; for everything that repeats with a seed: Prng.
#pragma once

#include "base/bytes.h"
#include "base/status.h"

namespace weft {

// Fills all of `out`. Thread safe. Refused only where the kernel has no such numbers or a sandbox
// forbids the call.
Status random_bytes(MutBytes out);

}  // namespace weft
