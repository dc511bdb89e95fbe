#include "base/fd.h"

#include <fcntl.h>

#include <cerrno>

namespace weft {

int Fd::moved(int fd) {
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, first);
    const int error = errno;
    ::close(fd);
    errno = error;
    return above;
}

}  // namespace weft
