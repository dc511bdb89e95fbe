// What the tests of io_uring have in common: a ring, lists of linked entries, a TCP connection.
//
// These tests are about the operating system, not about Weft: each holds a fact that the kernel
// engine is built on. The engine gets its entries from elsewhere; nothing of it is used here.
#pragma once

#include <gtest/gtest.h>
#include <liburing.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"

namespace weft::test {

// How long a test waits for something that should happen at once.
constexpr int patience_ms = 10'000;
// How long it waits for something that must not happen.
constexpr int silence_ms = 50;

// Why io_uring cannot be used here, found out by running a real chain; "": it can.
std::string io_uring_absence();

// Tests of io_uring are skipped, with the reason, where there is none.
class IoUring : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string why = io_uring_absence(); !why.empty()) GTEST_SKIP() << why;
    }
};

struct RingCompletion {
    std::uint64_t list = 0;
    int result = 0;
    auto operator<=>(const RingCompletion&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const RingCompletion& completion) {
    return out << "{" << completion.list << ", " << completion.result << "}";
}

// With the flags that the engine uses: none (rule 5).
class Ring {
  public:
    explicit Ring(unsigned entries = 256);
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    io_uring_sqe& entry();
    void submit();
    // Cancels every entry of a list; this has a completion of its own, of the list `canceler`.
    void cancel(std::uint64_t list, std::uint64_t canceler);

    // The next completion, if one comes within this time.
    std::optional<RingCompletion> next(int timeout_ms = patience_ms);
    // So many completions, by list, and those that come beyond.
    std::vector<RingCompletion> take(std::size_t count);

    io_uring* get() { return &ring_; }

  private:
    io_uring ring_{};
};

// Linked entries, of which only the last, or one that fails, has a completion.
class List {
  public:
    List(Ring& ring, std::uint64_t name) : ring_(ring), name_(name) {}
    List& recv(int fd, std::span<std::byte> bytes);
    List& send(int fd, std::span<const std::byte> bytes);
    List& take(int semaphore);
    List& give(int semaphore);
    void start();

  private:
    List& add(io_uring_sqe& entry);

    Ring& ring_;
    const std::uint64_t name_;
    io_uring_sqe* last_ = nullptr;
};

// An eventfd as the engine makes it, with this many tokens (rule 2).
Fd semaphore(unsigned tokens = 0);

// A connection over loopback. Blocking calls on it end after the patience of a test.
struct Connection {
    Connection();
    Fd near;
    Fd far;
};

// All of it, or the test fails.
void write_all(int fd, std::span<const std::byte> bytes);
void read_all(int fd, std::span<std::byte> bytes);

using ByteVector = std::vector<std::byte>;
// ByteVector that differ between seeds and neighbouring places.
ByteVector pattern(std::size_t size, unsigned seed);

// Threads that the kernel has started to wait in for io_uring: the engine is to need none.
int worker_threads();

// Waits until `is_true()` is; false when the test's patience is over.
template <class IsTrue>
bool eventually(IsTrue is_true) {
    for (int i = 0; i < patience_ms; ++i) {
        if (is_true()) return true;
        timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    return false;
}

}  // namespace weft::test
