// User-level threads, such as fibers, that one thread of the operating system runs: a wait inside
// of one suspends that one alone. Their scheduler is a library above this one (weft/scheduler.h);
// here is what their waits wait for, so that only those go on whose wait has ended.
//
// No wait is forgotten: its thread is asked for it under the engine's lock, by the operating
// system's thread that runs the scheduler. That thread looks here when it switches, and when
// nothing can run it sleeps in an ordinary wait for any of these, which ends when a run does.
//
// Functions of a program's own schedules may wait, if the schedule was started here: each runs in a
// user-level thread that is made for it, and goes on as one whose wait has ended.
//
// Thread safety: the engine must be held. here(), current(), suspend(), yield() and what says when
// to look: the scheduler's thread, without it.
#pragma once

#include <cstdint>
#include <limits>

#include "base/cancellation.h"
#include "run/run.h"
#include "weft/scheduler.h"

namespace weft {

class UserThreads;

// One wait that is suspended; lives in the frame of the call that waits.
class SuspendedWait final : CompletionListener {
  public:
    using DonePointer = bool (*)(void*);
    struct Aim {
        DonePointer done;
        void* context;
        Run* run;  // whose end alone makes done() true; null: whatever happens may
        std::int64_t deadline_ns;
        bool is_interruptible;
    };

    SuspendedWait(UserThreads& threads, const Aim& aim) : threads_(threads), aim_(aim) {}
    SuspendedWait(const SuspendedWait&) = delete;
    SuspendedWait& operator=(const SuspendedWait&) = delete;

    bool was_interrupted() const { return was_interrupted_; }

  private:
    friend class UserThreads;

    // Oldest first.
    struct WaitList {
        SuspendedWait* first = nullptr;
        SuspendedWait* last = nullptr;

        void append(SuspendedWait& wait);
    };

    void run_ended(Run& run) override;
    void leave_list();

    UserThreads& threads_;
    const Aim aim_;
    void* thread_ = nullptr;
    WaitList* list_ = nullptr;
    bool was_interrupted_ = false;
    SuspendedWait* next_ = nullptr;
    SuspendedWait* previous_ = nullptr;
};

class UserThreads final : public FunctionHost {
  public:
    explicit UserThreads(const weft_scheduler& scheduler) : scheduler_(scheduler) {}
    UserThreads(const UserThreads&) = delete;
    UserThreads& operator=(const UserThreads&) = delete;

    // Those whose waits are to be suspended: a user-level thread runs here. Null: waits block.
    static UserThreads* here() {
        UserThreads* const threads = attached;
        return threads && pins == 0 && threads->current() ? threads : nullptr;
    }
    // Of the operating system's thread; null: it has none.
    static inline constinit thread_local UserThreads* attached
        __attribute__((tls_model("initial-exec"))) = nullptr;
    static bool is_pinned() { return pins > 0; }
    // Where the functions of a schedule run that is started now; null: in whichever thread drives.
    static UserThreads* for_functions() {
        UserThreads* const threads = here();
        return threads && threads->scheduler_.spawn ? threads : nullptr;
    }

    // While it exists, waits of this thread block: it holds what another user-level thread might
    // want.
    class Pin {
      public:
        Pin() { ++pins; }
        ~Pin() { --pins; }
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;
    };

    void* current() const { return scheduler_.current(scheduler_.state); }
    void suspend() { scheduler_.suspend(scheduler_.state); }
    void yield() { scheduler_.yield(scheduler_.state); }

    bool has_waits() const { return waits_ > 0; }
    bool has_interruptible() const { return interruptible_ > 0; }
    // No wait has an earlier one.
    std::int64_t deadline_ns() const { return deadline_ns_; }

    // The current thread waits from now on. REQUIRES: done() is false.
    void begin(SuspendedWait& wait);
    // Resumes the threads whose waits have ended or reached their deadlines. `happened` counts what
    // may end a wait. True: there were some.
    bool look(std::uint64_t happened);
    // Resumes one whose wait may be interrupted. REQUIRES: there is one.
    void interrupt();

    void take(FunctionCall& call) override;
    void drop(FunctionCall& call) override;
    // The oldest that may begin; null: none.
    FunctionCall* first_function() const { return first_function_; }
    // A user-level thread of its own performs it. REQUIRES: the first one. False: there is no
    // memory.
    bool begin(FunctionCall& call);

    // Looks in vain take a small share of the time: the next one comes so much later.
    bool is_time_to_look(std::uint64_t ticks_now) const {
        return static_cast<std::int64_t>(ticks_now - next_look_ticks_) >= 0;
    }
    void looked_in_vain(std::uint64_t begin_ticks, std::uint64_t end_ticks);
    // The engine is held by another thread. True: too often, wait for it.
    bool misses_again() { return ++missed_ % missed_max == 0; }

  private:
    friend class SuspendedWait;

    static constexpr unsigned missed_max = 16;
    static inline constinit thread_local int pins __attribute__((tls_model("initial-exec"))) = 0;

    void resume(SuspendedWait& wait);
    void expire();

    const weft_scheduler scheduler_;
    const Uncancelled uncancelled_;  // the stacks of user-level threads cannot be unwound together
    SuspendedWait::WaitList for_runs_;  // for one run each, which tells its end
    SuspendedWait::WaitList for_any_;
    SuspendedWait::WaitList ended_;
    FunctionCall* first_function_ = nullptr;
    FunctionCall* last_function_ = nullptr;
    std::uint32_t waits_ = 0;
    std::uint32_t interruptible_ = 0;
    std::uint64_t happened_ = 0;  // when for_any_ was looked at
    std::int64_t deadline_ns_ = std::numeric_limits<std::int64_t>::max();
    std::uint64_t next_look_ticks_ = 0;
    unsigned missed_ = 0;
};

}  // namespace weft
