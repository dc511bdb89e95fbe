// Waiting for a launcher's socket, until the deadline of an exchange.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace weft {

struct StartupDeadline {
    std::int64_t at_ns = 0;
    std::int64_t timeout_ns = 0;  // for the message

    Status passed() const;
};

// Waits until the socket is ready for `events` (of poll), or closed.
Status wait_for_launcher(int fd, short events, const StartupDeadline& deadline);

}  // namespace weft
