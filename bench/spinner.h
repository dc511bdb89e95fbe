// A process that does the bench's work with what CPU time others leave on its core (SCHED_IDLE),
// and counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace weft::bench {

// Not thread safe. It is asleep unless between resume() and pause(), and ends with this process.
class Spinner {
  public:
    // Forks: to be made before the library has threads or descriptors.
    Spinner();
    ~Spinner();
    Spinner(const Spinner&) = delete;
    Spinner& operator=(const Spinner&) = delete;

    void resume();
    void pause();

    // Work done so far, in units of its own.
    std::uint64_t done() const;
    // To remember what is done at this time.
    void mark_at(std::int64_t time_ns);
    // That; what is done now when the spinner has not run since.
    std::uint64_t marked() const;

  private:
    struct Shared;
    Shared* shared_ = nullptr;
    pid_t process_ = -1;
};

}  // namespace weft::bench
