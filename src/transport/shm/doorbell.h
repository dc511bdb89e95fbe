// Wakes a sleeping rank: one eventfd for each kind of sleeper, shared with all ranks of the node.
#pragma once

#include <array>

#include "base/fd.h"
#include "base/status.h"
#include "transport/transport.h"

namespace weft::shm {

class Doorbells {
  public:
    static constexpr std::size_t count = 2;

    Doorbells() = default;
    explicit Doorbells(std::array<Fd, count> fds) : fds_(std::move(fds)) {}
    static Result<Doorbells> create();

    // Further descriptors of the same doorbells.
    Result<Doorbells> duplicate() const;

    int fd(Sleeper sleeper) const { return fds_[index(sleeper)].get(); }
    void ring(Sleeper sleeper) const;
    // The descriptor is not readable any more, until the next ring().
    void silence(Sleeper sleeper) const;

  private:
    static std::size_t index(Sleeper sleeper) {
        WEFT_ASSERT(sleeper == Sleeper::thread || sleeper == Sleeper::waiter);
        return sleeper == Sleeper::thread ? 0 : 1;
    }

    std::array<Fd, count> fds_;
};

}  // namespace weft::shm
