// Lets operator new fail where a test wants it. Include it in one file of a program: it replaces operator
// new and delete of the whole program, and so of the library.
#pragma once

#include <execinfo.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace weft::test {

// While armed, fails one allocation of this process, by whatever thread, and is disarmed by it; or all.
class Injector {
  public:
    // The n-th allocation from now.
    static void arm_at(long n) {
        countdown_ = n;
        arm(Mode::at);
    }
    // The next one that comes from a call stack that none has come from before.
    static void arm_at_new_stack() { arm(Mode::new_stack); }
    // All, until it is disarmed.
    static void arm_at_all() { arm(Mode::all); }
    // Whether one has failed.
    static bool disarm() {
        mode_ = Mode::off;
        return fired_;
    }
    static bool has_fired() { return fired_; }

    // The first call of backtrace() takes memory itself.
    static void prepare() {
        void* frame;
        (void)backtrace(&frame, 1);
    }

    static bool fails() {
        const Mode mode = mode_.load(std::memory_order_relaxed);
        if (mode == Mode::off) [[likely]]
            return false;
        if (mode == Mode::all) return true;
        const bool now = mode == Mode::at ? countdown_.fetch_sub(1) == 1 : is_new_stack();
        if (now) {
            mode_ = Mode::off;
            fired_ = true;
        }
        return now;
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
    inline static std::atomic<long> countdown_{0};
    inline static std::array<std::atomic<std::uint64_t>, 1 << 16> seen_{};
};

inline void* allocate(std::size_t bytes, std::size_t alignment = 0) noexcept {
    if (Injector::fails()) return nullptr;
    if (alignment == 0) return std::malloc(bytes > 0 ? bytes : 1);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

inline void* or_throw(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace weft::test

// (The array forms and the other forms of delete call these.)
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    return weft::test::or_throw(weft::test::allocate(bytes));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return weft::test::allocate(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return weft::test::or_throw(weft::test::allocate(bytes, static_cast<std::size_t>(alignment)));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
    return weft::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
