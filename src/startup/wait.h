// Waiting for a launcher's socket, within the time that an exchange may take.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace weft {

struct StartupDeadline {
    std::int64_t at_ns = 0;
    std::int64_t timeout_ns = 0;  // what it was made of, for the sentence

    Status passed() const;
};

// Until the socket is ready for `events` (of poll), or closed.
Status wait_for_launcher(int fd, short events, const StartupDeadline& deadline);

}  // namespace weft
