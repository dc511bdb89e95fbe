#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include <cstring>

namespace weft {

Status random_bytes(MutBytes out) {
    while (!out.empty()) {
        ssize_t got = ::getrandom(out.data(), out.size(), 0);
        if (got >= 0) {
            out = out.subspan(static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            return failure(WEFT_REFUSED_UNSUPPORTED, "no random numbers from the kernel: %s",
                           std::strerror(errno));
        }
    }
    return ok;
}

}  // namespace weft
