// The eager threshold: messages of fewer bytes are sent at once, larger ones wait for their receive
// (rendezvous: RTS, then CTS).
#pragma once

#include <cstddef>
#include <optional>

#include "base/status.h"

namespace weft {

// WEFT_RENDEZVOUS, in bytes; none: each transport has its own default. 0: only failure notices
// (context 0) are eager, which orders them before the cancellations that they explain.
Result<std::optional<std::size_t>> eager_threshold_from_environment();

}  // namespace weft
