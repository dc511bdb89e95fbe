// The engine's lock: two atomic instructions if nobody contends, which is nearly always, else a
// sleep. Inlined into every call of the library, where a mutex would cost a fifth of a barrier
// between neighbouring cores.
#pragma once

#include <atomic>
#include <cstdint>

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

}  // namespace weft
