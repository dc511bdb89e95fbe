// Runs the fibers of one thread of the operating system, and is Weft's scheduler there
// (weft/scheduler.h). A fiber runs until it waits, yields or ends. Then run, in this order: fibers
// whose wait in Weft has ended, and functions of schedules, each in a fiber of its own; those that
// are ready to compute, both first come, first served; and if there is none, the thread sleeps in
// Weft.
//
// Invariants: a fiber is current, or in one of the queues, or waits (in Weft, or for another to
// end). The root, which is the stack that run() was called on, is current only while no fiber is
// ready.
//
// Thread safety: none; each thread has its own.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include <boost/context/detail/fcontext.hpp>

#include "fiber/preemptor.h"
#include "fiber/stack.h"
#include "weft/fiber.hpp"
#include "weft/scheduler.h"

namespace weft::fibers {

namespace detail {

// A fiber, or the root. Lives until it has ended and no handle refers to it.
struct FiberRecord {
    // As the C++ runtime lays it out: the exceptions that this fiber handles, and those on their
    // way.
    struct Exceptions {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };

    boost::context::detail::fcontext_t context = nullptr;
    Exceptions exceptions;
    Stack stack;
    // What it runs: a body; or a function of a schedule, which nobody joins.
    std::unique_ptr<Body> body;
    void (*function)(void*) = nullptr;
    void* argument = nullptr;
    std::exception_ptr error;       // what left the body
    FiberRecord* next = nullptr;    // in a queue
    FiberRecord* joiner = nullptr;  // waits for its end
    bool is_ended = false;
    bool has_handle = false;
    bool is_preemptible = false;  // computes, and a signal may take the thread away
    std::int64_t slice_ns = 0;    // ... after so long; 0: only for what arrives
    // What sanitizers need to know about a switch.
    void* fake_stack = nullptr;
    const void* asan_bottom = nullptr;
    std::size_t asan_bytes = 0;
    void* tsan_fiber = nullptr;
};

}  // namespace detail

class Scheduler {
  public:
    Scheduler();  // may throw
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Of this thread; null: none.
    static Scheduler* here();

    // Runs fibers until all have ended: a first one, and those that it spawns. Throws what leaves
    // the first.
    void run(std::unique_ptr<detail::Body> body, const Options& options);
    // May throw; then nothing has happened.
    detail::FiberRecord& spawn(std::unique_ptr<detail::Body> body, const Options& options);
    // Throws in functions that Weft calls.
    static void check_may_wait();
    // In a fiber that may wait: returns when that one has ended.
    void await_end(detail::FiberRecord& record);
    // The handle is gone.
    static void release(detail::FiberRecord& record);
    void yield();

    // False: nothing interrupts the current function. May throw.
    bool begin_preemptible(const Preemption& how);
    void end_preemptible();
    void preempt_on_arrival();  // may throw

    detail::FiberRecord* current_fiber() const { return current_ == &root_ ? nullptr : current_; }
    const Counts& counts() const { return counts_; }

  private:
    struct Queue {
        detail::FiberRecord* first = nullptr;
        detail::FiberRecord* last = nullptr;

        void append(detail::FiberRecord& record);
        detail::FiberRecord* pop();
    };

    void run_all();
    int spawn_function(void (*function)(void*), void* argument);
    void make_ready(detail::FiberRecord& record, std::size_t stack_bytes);
    static void enter(boost::context::detail::transfer_t from);
    void switch_to(detail::FiberRecord& next);
    void arrive(boost::context::detail::transfer_t from);
    // The next that is ready; the root if none is.
    detail::FiberRecord& take_next();
    void wait_for_turn();
    static bool on_signal(ucontext_t& interrupted);
    void preempt(ucontext_t& interrupted);
    void refuse_while_preemptible() const;
    [[noreturn]] void end_current() noexcept;

    // Of this thread: what the C++ runtime knows of the exceptions of who runs.
    detail::FiberRecord::Exceptions* const exceptions_;
    detail::FiberRecord root_;
    detail::FiberRecord* current_ = &root_;
    Queue arrived_;  // their waits have ended, or they are functions of schedules
    Queue ready_;    // to compute
    std::uint64_t alive_ = 0;
    Counts counts_;
    StackPool& stacks_ = StackPool::of_this_thread();
    std::size_t function_stack_bytes_ = 0;
    Queue ended_functions_;  // records to use again: their starts allocate nothing
    weft_scheduler calls_;
    Preemptor preemptor_;
    bool has_arrivals_ = false;  // they signal
    OverflowWatch overflow_watch_;
};

}  // namespace weft::fibers
