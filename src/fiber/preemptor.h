// Takes the thread away from fibers that compute in a preemptible region
// (weft::fibers::preemptible): a timer, or what arrives for Weft, sends this thread a signal, whose
// handler runs on the stack of the fiber that computes, and switches to another one. The handler
// returns when that fiber has its turn again.
//
// Invariant: the signal is blocked in this thread, except while a region computes. So the handler
// never finds a lock held, the heap or the C++ runtime in between, or Weft at work: it may do what
// any fiber may. A switch out of the handler leaves the signal blocked, for whoever goes on; the
// return from the handler lets it through again.
//
// Thread safety: none; each scheduler has its own.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace weft::fibers {

class Preemptor {
  public:
    // Ignored by default: a stray one does no harm.
    static constexpr int signal = SIGURG;
    // On the stack of a fiber that is preempted: the registers, and a look of the handler.
    static std::size_t stack_bytes();

    Preemptor() = default;
    ~Preemptor();
    Preemptor(const Preemptor&) = delete;
    Preemptor& operator=(const Preemptor&) = delete;

    // Takes the thread from what the signal has interrupted. False: that is in no region.
    using Handler = bool (*)(ucontext_t& interrupted);
    // From now on the signal is blocked, and handled: always by the same. May throw
    // std::system_error.
    void prepare(Handler calls);
    // The current fiber's region begins or ends. Between them the signal comes, after `slice_ns` at
    // the latest; 0: for what arrives, and after `look_every_ns`, in case that something has
    // arrived without a signal.
    void begin_region(std::int64_t slice_ns);
    void end_region();

    // In the handler: False: it has interrupted a handler of the program's in the region, which may
    // be on the alternate stack and hold locks; or signals are blocked there. The thread must stay
    // with it.
    bool interrupts_region(const ucontext_t& interrupted) const;
    // The signal comes again soon.
    void retry();
    // Then the slice goes on.
    void end_retry();
    // The handler has looked since then. A look that takes long may have left something for which
    // no signal comes: the next one is made soon, if no slice ends.
    void retry_after_long_look(std::int64_t begin_ns);
    static std::int64_t now_ns();
    bool is_slice_over() const;
    // Another fiber has the thread now.
    void pause() { set_timer(0); }
    void begin_slice(std::int64_t slice_ns);

    // Fibers share the thread's mask: what they have changed meanwhile holds where the handler
    // returns to.
    void keep_mask(ucontext_t& interrupted);

  private:
    // Of the mask that the kernel keeps: less than a sigset_t.
    static constexpr std::size_t mask_bytes = 8;

    void set_timer(std::int64_t after_ns);

    bool is_prepared_ = false;
    bool was_blocked_ = false;  // by the program
    timer_t timer_{};
    unsigned char region_mask_[mask_bytes] = {};  // what is blocked while a region computes
    std::int64_t slice_end_ns_ = 0;               // 0: no slice
    bool is_retry_ = false;                       // the timer is set for one, not for the slice
};

}  // namespace weft::fibers
