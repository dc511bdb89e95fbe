#include "engine/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/cancellation.h"

namespace weft {

Wake::Wake() : fd_(Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))), error_(fd_ ? 0 : errno) {}

void Wake::signal() const {
    const Uncancelled uncancelled;
    int saved = errno;
    std::uint64_t one = 1;
    // Fails only when the counter is full; then it is already readable.
    [[maybe_unused]] ssize_t n = write(fd_.get(), &one, sizeof one);
    errno = saved;
}

void Wake::clear() const {
    const Uncancelled uncancelled;
    std::uint64_t count;
    [[maybe_unused]] ssize_t n = read(fd_.get(), &count, sizeof count);
}

}  // namespace weft
