#include "startup/wait.h"

#include <errno.h>
#include <poll.h>

#include <cstring>

#include "base/clock.h"

namespace weft {

Status StartupDeadline::passed() const {
    return failure(WEFT_REFUSED_STATE,
                   "not all ranks had started after %g s; WEFT_STARTUP_TIMEOUT sets how long "
                   "to wait",
                   static_cast<double>(timeout_ns) / 1e9);
}

Status wait_for_launcher(int fd, short events, const StartupDeadline& deadline) {
    for (;;) {
        const std::int64_t left_ns = deadline.at_ns - now_ns();
        if (left_ns <= 0) return deadline.passed();
        pollfd entry{fd, events, 0};
        int ready = ::poll(&entry, 1, static_cast<int>(left_ns / 1'000'000 + 1));
        if (ready > 0) return ok;
        if (ready < 0 && errno != EINTR) {
            return failure(WEFT_REFUSED_STATE, "cannot wait for the launcher: %s",
                           std::strerror(errno));
        }
    }
}

}  // namespace weft
