// Which allocations fail, in a program that includes support/failing_new.h.
#pragma once

#include <execinfo.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::test {

// While armed, fails one allocation of this process, in any thread, or several in a row, and is then disarmed; or fails
// all.
class Injector {
  public:
    // The n-th allocation from now, and those after it: so many.
    static void arm_at(long n, long many = 1) {
        countdown_ = n;
        many_left_ = many;
        arm(Mode::at);
    }
    // The next one from a new call stack.
    static void arm_at_new_stack() {
        many_left_ = 1;
        arm(Mode::new_stack);
    }
    // All, until it is disarmed.
    static void arm_at_all() { arm(Mode::all); }
    // Whether one has failed.
    static bool disarm() {
        mode_ = Mode::off;
        return fired_;
    }
    static bool has_fired() { return fired_; }
    // Between these two, allocations of the calling thread do not fail, and do not count.
    static void pause() { ++pauses_; }
    static void go_on() { --pauses_; }

    // The first call of backtrace() takes memory itself.
    static void prepare() {
        void* frame;
        (void)backtrace(&frame, 1);
    }

    static bool fails() {
        const Mode mode = mode_.load(std::memory_order_relaxed);
        if (mode == Mode::off || pauses_ > 0) [[likely]]
            return false;
        if (mode == Mode::all) return true;
        if (mode == Mode::at ? countdown_.fetch_sub(1) > 1 : !is_new_stack()) return false;
        // (Other threads may be here, too.)
        const long left = many_left_.fetch_sub(1);
        if (left <= 1) mode_ = Mode::off;
        if (left < 1) return false;
        fired_ = true;
        return true;
    }

  private:
    enum class Mode { off, at, new_stack, all };

    static void arm(Mode mode) {
        fired_ = false;
        mode_ = mode;
    }

    static bool is_new_stack() {
        void* frames[24];
        const int depth = backtrace(frames, 24);
        std::uint64_t hash = 1;
        for (int i = 0; i < depth; ++i)
            hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[i])) * 0x9e3779b97f4a7c15u;
        for (std::size_t place = hash % seen_.size();; place = (place + 1) % seen_.size()) {
            std::uint64_t there = 0;
            if (seen_[place].compare_exchange_strong(there, hash)) return true;
            if (there == hash) return false;
        }
    }

    inline static std::atomic<Mode> mode_{Mode::off};
    inline static std::atomic<bool> fired_{false};
    inline static thread_local int pauses_ = 0;
    inline static std::atomic<long> countdown_{0};
    inline static std::atomic<long> many_left_{0};
    inline static std::array<std::atomic<std::uint64_t>, 1 << 16> seen_{};
};

// Protects a test's own allocations.
class Unharmed {
  public:
    Unharmed() { Injector::pause(); }
    ~Unharmed() { Injector::go_on(); }
    Unharmed(const Unharmed&) = delete;
    Unharmed& operator=(const Unharmed&) = delete;
};

}  // namespace weft::test
