// The stacks of fibers, each above pages that must not be touched; and the handler that says so
// when one is.
//
// Thread safety: none for a stack and a pool; several threads may have an OverflowWatch each.
#pragma once

#include <signal.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weft::fibers {

// Owned memory; grows down from top().
class Stack {
  public:
    Stack() = default;
    // `place`: stacks with different ones begin in different lines of a cache. Throws
    // std::bad_alloc.
    Stack(std::size_t bytes, std::size_t place);
    Stack(Stack&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)),
          shift_(other.shift_) {}
    Stack& operator=(Stack&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        std::swap(shift_, other.shift_);
        return *this;
    }
    ~Stack();

    std::size_t bytes() const { return bytes_; }
    std::byte* bottom() const;
    std::byte* top() const { return bottom() + bytes_ + shift_; }
    // Whether the address lies in the guard below it.
    bool is_beyond(const void* address) const;
    // What fits `bytes`.
    static std::size_t rounded(std::size_t bytes);

  private:
    std::size_t mapped_bytes() const;

    std::byte* memory_ = nullptr;  // begins with the guard
    std::size_t bytes_ = 0;        // at least; without the guard
    std::size_t shift_ = 0;
};

// Keeps stacks that are not used any more for the next fibers.
class StackPool {
  public:
    // The next run() of a thread finds its stacks mapped, and in the cache.
    static StackPool& of_this_thread();

    Stack take(std::size_t bytes);
    void give_back(Stack stack) noexcept;

  private:
    static constexpr std::size_t kept_max = 64;

    std::vector<Stack> kept_;
    std::size_t made_ = 0;
};

// While it exists, a fiber of this thread that overflows its stack ends the process with a
// sentence. Handles SIGSEGV on a stack of its own; other faults go to the handler that was there
// before.
class OverflowWatch {
  public:
    OverflowWatch();
    ~OverflowWatch();
    OverflowWatch(const OverflowWatch&) = delete;
    OverflowWatch& operator=(const OverflowWatch&) = delete;

    // The stack that this thread uses from now on; null: its own.
    static void watch(const Stack* stack) { watched = stack; }

  private:
    // Read by the signal handler: it must not be allocated at its first use.
    static inline constinit thread_local const Stack* watched
        __attribute__((tls_model("initial-exec"))) = nullptr;
    template <std::size_t Number>
    static void on_fault(int signal, siginfo_t* info, void* context);
    static void install();
    static void uninstall();

    std::unique_ptr<std::byte[]> alternate_;  // null: the thread had one
};

}  // namespace weft::fibers
