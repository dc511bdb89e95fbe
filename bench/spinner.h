// A process that does the bench's work in the CPU time that others leave on its core (SCHED_IDLE),
// and counts that work.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace weft::bench {

// Not thread safe. It sleeps except between resume() and pause(), and ends with this process.
class Spinner {
  public:
    // Forks: construct it before the library has threads or descriptors.
    Spinner();
    ~Spinner();
    Spinner(const Spinner&) = delete;
    Spinner& operator=(const Spinner&) = delete;

    void resume();
    void pause();

    // Work done so far, in its own units.
    std::uint64_t done() const;
    // Records the work done at this time.
    void mark_at(std::int64_t time_ns);
    // The recorded work; if the spinner has not run since, the work done so far.
    std::uint64_t marked() const;

  private:
    struct Shared;
    Shared* shared_ = nullptr;
    pid_t process_ = -1;
};

}  // namespace weft::bench
