// A thread of the library. Functions of the program may run in it: it has a stack as large as the
// program's own threads, and the default state of floating-point arithmetic. It takes no signals,
// which belong to the program's.
//
// Thread safety: none.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>

namespace weft {

class Thread {
  public:
    Thread() = default;
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    // REQUIRES: joined or detached.
    ~Thread();

    // 0: it runs; otherwise the errno with which it was refused. May throw std::bad_alloc: it does
    // not run. REQUIRES: not joinable.
    [[nodiscard]] int start(std::function<void()> main);
    bool joinable() const { return is_started_; }
    void join();
    void detach();

  private:
    pthread_t thread_{};
    bool is_started_ = false;
};

// Runs the function in a thread that then ends. Returns as Thread::start().
[[nodiscard]] int run_in_thread(std::function<void()> main);

// --- How the scheduler treats the calling thread ------------------------------------------------

inline constexpr std::uint64_t short_slice_ns = 100'000;

// As in <linux/sched/types.h>; current C libraries do not declare it.
struct SchedAttributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;  // within the ordinary policy: the slice, in ns
    std::uint64_t deadline;
    std::uint64_t period;
};

// Gives the calling thread a slice of short_slice_ns within SCHED_OTHER (Linux 6.12 and later). It
// then preempts a computing thread, instead of waiting until that one's slice ends. False: the
// kernel does not offer it, or forbids it.
bool request_short_slice();

// Gives the calling thread ten steps of nice more weight, where the process may (CAP_SYS_NICE, or
// RLIMIT_NICE). A thread that has just worked is otherwise behind a computing thread of equal
// weight until that one has had as much time, and the scheduler looks only at its next tick, 1 to 4
// ms later. False: it may not.
bool request_more_weight();

}  // namespace weft
