// The engine's lock: two atomic instructions if nobody contends, which is nearly always, else a
// sleep. Inlined into every call of the library, where a mutex would cost a fifth of a barrier
// between neighbouring cores.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace weft {

class Lock {
  public:
    bool try_lock() {
        std::uint32_t expected = free;
        return state_.compare_exchange_strong(expected, held, std::memory_order_acquire);
    }
    void lock() {
        if (try_lock()) return;
        while (state_.exchange(wanted, std::memory_order_acquire) != free) state_.wait(wanted);
    }
    void unlock() {
        if (state_.exchange(free, std::memory_order_release) == wanted) state_.notify_one();
    }

  private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t wanted = 2;  // held, and somebody may sleep

    std::atomic<std::uint32_t> state_{free};
};

// A lock whose holder, a thread that spins, knows that others want it, and lets them have it.
class HandoverLock {
  public:
    bool try_lock() { return lock_.try_lock(); }
    void lock() {
        if (!lock_.try_lock()) wait_for_it();
    }
    void unlock() { lock_.unlock(); }

    // While it exists, another thread wants the lock that does not sleep for it.
    class Contender {
      public:
        explicit Contender(HandoverLock& lock) : lock_(lock) { ++lock_.contenders_; }
        ~Contender() { --lock_.contenders_; }
        Contender(const Contender&) = delete;
        Contender& operator=(const Contender&) = delete;

      private:
        HandoverLock& lock_;
    };

    bool is_contended() const { return contenders_.load(std::memory_order_relaxed) > 0; }
    // How many threads have waited for the lock and got it.
    std::uint32_t admitted() const { return admitted_.load(std::memory_order_relaxed); }
    // After unlock(). A thread that waits for the lock sleeps: taken again at once, the lock would
    // never be free for it. It stays free until another thread than those has got it, or no longer
    // wants it; but only for a while.
    void stay_free(std::uint32_t admitted_before) const {
        const std::int64_t begin_ns = now_ns();
        while (is_contended() && admitted() == admitted_before &&
               now_ns() - begin_ns < handover_max_ns)
            sched_yield();
    }

  private:
    static constexpr std::int64_t handover_max_ns = 100'000;

    [[gnu::noinline]] void wait_for_it() {
        contenders_.fetch_add(1, std::memory_order_relaxed);
        lock_.lock();
        admitted_.fetch_add(1, std::memory_order_relaxed);
        contenders_.fetch_sub(1, std::memory_order_relaxed);
    }

    Lock lock_;
    std::atomic<int> contenders_{0};
    std::atomic<std::uint32_t> admitted_{0};
};

}  // namespace weft
