// Random bytes from the kernel, for secrets. Use Prng for everything that a seed must reproduce.
#pragma once

#include "base/bytes.h"
#include "base/status.h"

namespace weft {

// Fills all of `out`, by getrandom() or else from /dev/urandom. Thread safe. Refused if neither can
// be used.
Status random_bytes(MutBytes out);

}  // namespace weft
