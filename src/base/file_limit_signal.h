// Writing beyond RLIMIT_FSIZE also sends SIGXFSZ, which by default ends the process: holds that
// signal back.
#pragma once

#include <signal.h>
#include <time.h>

namespace weft {

// While it lives, this thread gets an error instead of the signal.
class FileLimitSignalHeld {
  public:
    FileLimitSignalHeld() {
        sigset_t pending;
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    }
    ~FileLimitSignalHeld() {
        const timespec at_once{};
        if (has_come()) sigtimedwait(&signal_, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    FileLimitSignalHeld(const FileLimitSignalHeld&) = delete;
    FileLimitSignalHeld& operator=(const FileLimitSignalHeld&) = delete;

    // The limit was reached. (A signal that was pending before is the program's.)
    bool has_come() const {
        sigset_t pending;
        sigpending(&pending);
        return !was_pending_ && sigismember(&pending, SIGXFSZ) == 1;
    }

  private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

}  // namespace weft
