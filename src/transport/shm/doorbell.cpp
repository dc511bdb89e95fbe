// Doorbells on eventfds.
#include "transport/shm/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cancellation.h"
#include "base/error_text.h"

namespace weft::shm {

Result<Doorbells> Doorbells::create() {
    Doorbells bells;
    for (Fd& fd : bells.fds_) {
        fd = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (!fd)
            return failure(WEFT_REFUSED_MEMORY, "cannot create an eventfd: %s",
                           error_text(errno).c_str());
    }
    return bells;
}

Result<Doorbells> Doorbells::duplicate() const {
    Doorbells bells;
    for (std::size_t i = 0; i < count; ++i) {
        bells.fds_[i] = Fd(fcntl(fds_[i].get(), F_DUPFD_CLOEXEC, Fd::first));
        if (!bells.fds_[i])
            return failure(WEFT_REFUSED_MEMORY, "cannot duplicate an eventfd: %s",
                           error_text(errno).c_str());
    }
    return bells;
}

// A write fails only when the counter is full, a read only when it is empty: both are what was
// wanted.
void Doorbells::ring(Sleeper sleeper) const {
    const Uncancelled uncancelled;
    (void)eventfd_write(fd(sleeper), 1);
}

void Doorbells::silence(Sleeper sleeper) const {
    const Uncancelled uncancelled;
    eventfd_t count_of_rings;
    (void)eventfd_read(fd(sleeper), &count_of_rings);
}

}  // namespace weft::shm
