// How threads of the engine block, and how they are woken: they park until they are unparked. For a
// program whose threads are not the operating system's, another implementation replaces
// thread_parking().
//
// The engine does not hold its lock in park(), park_follower() and yield(), and need not in
// unpark(); it does in all others. A sleeper waits for descriptors too; followers wait only for the
// leader (engine/engine.h).
//
// Thread safety: any thread may call anything; at most one parks as each sleeper.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "base/fd.h"
#include "transport/transport.h"

namespace weft {

class Parking {
  public:
    static constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

    virtual ~Parking() = default;

    // Not 0: the errno with which a descriptor was refused. The object must not be used.
    virtual int error() const = 0;

    // What ended a park. Neither: a timeout, or a signal handler ran.
    struct Woken {
        bool by_unpark = false;
        bool by_descriptor = false;
    };
    // Blocks the calling thread, which is this sleeper, for at most `timeout_ns`, until it is
    // unparked or one of the descriptors is readable; -1: none.
    virtual Woken park(Sleeper sleeper, std::span<const int> descriptors,
                       std::int64_t timeout_ns) = 0;
    // Ends the sleeper's park: the current one, or else the next, until acknowledge(). May be
    // called without the engine's lock, and by signal handlers.
    virtual void unpark(Sleeper sleeper) = 0;
    virtual void acknowledge(Sleeper sleeper) = 0;

    // Blocks the calling thread until unpark_followers() is called after ticket() was, or until the
    // deadline on the monotonic clock.
    virtual std::uint64_t ticket() = 0;
    virtual void park_follower(std::uint64_t ticket, std::int64_t deadline_ns) = 0;
    virtual void unpark_followers() = 0;

    // Lets other threads that could run on this core run first.
    virtual void yield() = 0;
};

// Blocks threads of the operating system.
std::unique_ptr<Parking> thread_parking();

// An eventfd by which a thread of this process wakes another that sleeps on descriptors.
// Thread safety: any thread; signal() also from signal handlers.
class Wake {
  public:
    Wake();
    // Not 0: the errno with which the eventfd was refused. The object must not be used.
    int error() const { return error_; }
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    int fd() const { return fd_.get(); }
    void signal() const;
    void clear() const;

  private:
    Fd fd_;
    int error_;
};

}  // namespace weft
