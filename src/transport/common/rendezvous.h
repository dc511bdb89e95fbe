// From which size on a message is only announced and waits for its receive (rendezvous). Smaller
// ones are sent at once (eager).
#pragma once

#include <cstddef>
#include <optional>

#include "base/status.h"

namespace weft {

// WEFT_RENDEZVOUS in bytes; none: each transport has its own measure. 0 announces every message but
// the executors' news (context 0), which must arrive before what they explain.
Result<std::optional<std::size_t>> rendezvous_bytes_from_environment();

}  // namespace weft
