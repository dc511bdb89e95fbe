#include "base/read_all.h"

#include <errno.h>
#include <unistd.h>

namespace weft {

bool read_all(int fd, std::string& data) {
    char part[65536];
    for (;;) {
        const ssize_t got = ::read(fd, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        data.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace weft
