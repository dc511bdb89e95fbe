// Fibers: computations that take turns in one thread of the operating system. A call of Weft that
// blocks suspends the fiber that makes it, and the others run. In a library of its own,
// libweft_fiber. See docs/fibers.md.
//
//   weft::fibers::run([] {
//       weft::fibers::Fiber other = weft::fibers::spawn([] { ... });
//       ...
//       other.join();
//   });
#pragma once

#include "weft/weft.hpp"  // first: it says which C++ it needs

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/export.h"

namespace weft::fibers {

struct Options {
    // Rounded up to pages. Calls of Weft take a few KiB; functions that it calls run on a caller's
    // stack, too.
    std::size_t stack_bytes = 256 * 1024;
};

// When others may take the thread from a fiber that computes.
struct Preemption {
    // After this many microseconds, if others are ready; arrivals are polled as often. 0:
    // never.
    unsigned slice_us = 200;
};

namespace detail {

struct FiberRecord;  // of a fiber

class Body {
  public:
    virtual ~Body() = default;
    virtual void call() = 0;
};

template <class Function>
class BodyOf final : public Body {
  public:
    template <class Given>
    explicit BodyOf(Given&& function) : function_(std::forward<Given>(function)) {}
    void call() override { function_(); }

  private:
    Function function_;
};

template <class Function>
std::unique_ptr<Body> body_of(Function&& function) {
    return std::make_unique<BodyOf<std::decay_t<Function>>>(std::forward<Function>(function));
}

WEFT_API void run(std::unique_ptr<Body> body, const Options& options);
WEFT_API FiberRecord* spawn(std::unique_ptr<Body> body, const Options& options);
// Gives it back, and throws what the fiber has thrown. A refusal, std::logic_error, leaves it as it
// is.
WEFT_API void join(FiberRecord*& handle);
WEFT_API void detach(FiberRecord* record) noexcept;
WEFT_API void end(
    FiberRecord* record) noexcept;  // of a handle that was neither joined nor detached
// False: nothing interrupts what is called here.
WEFT_API bool begin_preemptible(const Preemption& how);
WEFT_API void end_preemptible() noexcept;

}  // namespace detail

// A fiber that was spawned. To be joined or detached; the destructor waits for the fiber's end, and
// ends the process if it has thrown. To be used in fibers of the same run().
class [[nodiscard]] Fiber {
  public:
    Fiber() = default;
    explicit Fiber(detail::FiberRecord* record) noexcept : record_(record) {}  // for spawn()
    Fiber(Fiber&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Fiber& operator=(Fiber&& other) noexcept {
        Fiber old(std::move(*this));
        record_ = std::exchange(other.record_, nullptr);
        return *this;
    }
    ~Fiber() {
        if (record_) detail::end(record_);
    }

    bool is_joinable() const { return record_ != nullptr; }
    // Suspends the calling fiber until this one has ended. Throws what it has thrown. Throws
    // std::logic_error, and the fiber stays joinable, if it has not ended and this is no fiber, or
    // a function that Weft calls; or if it is not joinable.
    void join() { detail::join(record_); }
    // Only run() waits for its end. An exception that leaves it ends the process. REQUIRES:
    // is_joinable().
    void detach() { detail::detach(std::exchange(record_, nullptr)); }

  private:
    detail::FiberRecord* record_ = nullptr;
};

// Makes the calling thread run fibers: `function` in the first, and those that it spawns. Returns
// when all have ended; returns, or throws, what the first has. Throws std::logic_error inside of a
// fiber.
template <class Function>
auto run(Function&& function, Options options = {}) {
    using Result = std::invoke_result_t<std::decay_t<Function>&>;
    if constexpr (std::is_void_v<Result>) {
        detail::run(detail::body_of(std::forward<Function>(function)), options);
    } else {
        std::optional<Result> result;
        detail::run(detail::body_of([&] { result.emplace(function()); }), options);
        return std::move(*result);
    }
}

// Makes a fiber that calls `function` when its turn comes, after those that are ready now. Throws
// std::bad_alloc if there is no memory for its stack, and std::logic_error outside of fibers.
template <class Function>
Fiber spawn(Function&& function, Options options = {}) {
    return Fiber(detail::spawn(detail::body_of(std::forward<Function>(function)), options));
}

// Lets the others run: first those whose operations have ended, then those that compute, first
// come, first served. Returns at once if none is ready, outside of fibers, and in functions that
// Weft calls.
WEFT_API void yield() noexcept;

// Calls `function`, which computes without yielding: whenever its time is up, a signal takes the
// thread away from it, and gives it back when its turn comes again. So `function` must not be in
// between anything that another fiber could need: it calls nothing of Weft, takes no locks,
// allocates and frees nothing, loads nothing, and throws nothing; it may read and write memory, and
// call functions of which the same is true. See docs/fibers.md. Outside of fibers, and in functions
// that Weft calls, it is merely called. Throws std::logic_error if there is too little room on the
// stack.
template <class Function>
void preemptible(Function&& function, Preemption how = {}) {
    const bool has_begun = detail::begin_preemptible(how);
    [&]() noexcept { function(); }();
    if (has_begun) detail::end_preemptible();
}

// From now on, until run() returns, what arrives over TCP interrupts preemptible computations in
// this thread at once: a fiber whose wait it ends runs next. Throws std::logic_error, with a
// sentence, if some rank is not reached by TCP, or if another thread has asked for the same; and
// outside of fibers.
WEFT_API void preempt_on_arrival();

// Whether a fiber runs in this thread.
WEFT_API bool is_inside() noexcept;

// What this thread's run() has done so far; zero outside of it.
struct Counts {
    std::uint64_t spawned = 0;
    std::uint64_t switches = 0;
    std::uint64_t sleeps = 0;         // no fiber was ready
    std::uint64_t interruptions = 0;  // signals that came while a preemptible function computed
    std::uint64_t preemptions = 0;    // of them, those that gave the thread to another fiber
};
WEFT_API Counts counts() noexcept;

}  // namespace weft::fibers
