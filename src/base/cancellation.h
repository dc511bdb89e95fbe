// pthread_cancel may end a thread of the program inside of the library only while it sleeps in a
// wait for requests. At any other system call it would leave a call between two of its steps.
#pragma once

#include <pthread.h>

namespace weft {

// While it exists, the thread is not cancelled.
class Uncancelled {
  public:
    // `needed`: something within may be a cancellation point. (The two calls would take a few
    // percent of the shortest operations.)
    explicit Uncancelled(bool needed = true) : needed_(needed) {
        if (needed_) ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
    }
    ~Uncancelled() {
        if (needed_) ::pthread_setcancelstate(before_, nullptr);
    }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;

  protected:
    int before_ = PTHREAD_CANCEL_ENABLE;

  private:
    const bool needed_;
};

// A call of the library. Its sleeps may be cancelled if its caller could be.
class UncancelledCall : public Uncancelled {
  public:
    explicit UncancelledCall(bool needed = true) : Uncancelled(needed), outer_(here) {
        if (needed && !outer_) here = this;
    }
    ~UncancelledCall() { here = outer_; }

  private:
    friend class CancellableSleep;
    static inline constinit thread_local const UncancelledCall* here
        __attribute__((tls_model("initial-exec"))) = nullptr;
    const UncancelledCall* const outer_;
};

// While it exists, the thread may be cancelled only if `allowed` and its caller could be.
class CancellableSleep : Uncancelled {
  public:
    explicit CancellableSleep(bool allowed) {
        const int callers = UncancelledCall::here ? UncancelledCall::here->before_ : before_;
        if (allowed) ::pthread_setcancelstate(callers, nullptr);
    }
};

}  // namespace weft
