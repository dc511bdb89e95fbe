// Random bytes from the kernel, for secrets. Use Prng for everything that a seed must reproduce.
#pragma once

#include "base/bytes.h"
#include "base/status.h"

namespace weft {

// Fills all of `out`. Thread safe. Refused only if the kernel has no random numbers, or a sandbox
// forbids the call.
Status random_bytes(MutBytes out);

}  // namespace weft
