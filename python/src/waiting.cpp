#include "waiting.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>

namespace weft_python {
namespace {

using Wait = std::function<weft_status(std::int64_t)>;

// Python notices a signal that comes during so short a wait soon enough.
constexpr std::int64_t short_ns = 2'000'000;

constexpr int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGALRM,
                           SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH};
std::array<struct sigaction, std::size(signals)> handlers_of_python;
std::atomic<bool> main_thread_waits{false};
std::atomic<int> threads{0};  // that wait

std::int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

struct Counted {
    Counted() { ++threads; }
    ~Counted() { --threads; }
};

void interrupt_and_pass_on(int number) {
    const int error = errno;
    weft_interrupt();
    for (std::size_t i = 0; i < std::size(signals); ++i) {
        if (signals[i] == number) handlers_of_python[i].sa_handler(number);
    }
    errno = error;
}

// Python's handlers only take note of a signal; the program's run when the main thread is back in
// Python. During a long wait of that thread they also interrupt the wait.
class InterruptedBySignals {
  public:
    InterruptedBySignals() {
        for (std::size_t i = 0; i < std::size(signals); ++i) {
            struct sigaction theirs;
            if (sigaction(signals[i], nullptr, &theirs) != 0 || !is_of_python(theirs)) continue;
            handlers_of_python[i] = theirs;
            theirs.sa_handler = interrupt_and_pass_on;
            is_replaced_[i] = sigaction(signals[i], &theirs, nullptr) == 0;
        }
        main_thread_waits = true;
    }
    ~InterruptedBySignals() {
        main_thread_waits = false;
        for (std::size_t i = 0; i < std::size(signals); ++i) {
            struct sigaction now;
            if (!is_replaced_[i] || sigaction(signals[i], nullptr, &now) != 0) continue;
            // Unless a handler has set another one.
            if (now.sa_handler == interrupt_and_pass_on)
                (void)sigaction(signals[i], &handlers_of_python[i], nullptr);
        }
    }
    InterruptedBySignals(const InterruptedBySignals&) = delete;

  private:
    // (In a handler that waits, some are ours already.)
    static bool is_of_python(const struct sigaction& action) {
        return !(action.sa_flags & SA_SIGINFO) && action.sa_handler != SIG_DFL &&
               action.sa_handler != SIG_IGN && action.sa_handler != interrupt_and_pass_on;
    }

    std::array<bool, std::size(signals)> is_replaced_{};
};

weft_status wait_in_main_thread(const Wait& wait, std::int64_t deadline_ns) {
    while (true) {
        const InterruptedBySignals interrupted;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        const nb::gil_scoped_release unlocked;
        const weft_status status = wait(deadline_ns);
        if (status != WEFT_INTERRUPTED) return status;
    }
}

weft_status wait_elsewhere(const Wait& wait, std::int64_t deadline_ns) {
    const nb::gil_scoped_release unlocked;
    while (true) {
        const weft_status status = wait(deadline_ns);
        if (status != WEFT_INTERRUPTED) return status;
        if (!main_thread_waits) continue;
        // It was meant for the main thread: passed on, with time to take it.
        weft_interrupt();
        constexpr timespec turn = {0, 100'000};
        nanosleep(&turn, nullptr);
    }
}

}  // namespace

std::int64_t deadline_of(nb::handle timeout) {
    if (timeout.is_none()) return no_deadline;
    const auto seconds = nb::cast<double>(timeout);
    if (std::isnan(seconds)) refuse("timeout is not a number; expected seconds", nullptr);
    const double end = static_cast<double>(now_ns()) + std::max(0.0, seconds) * 1e9;
    return end < 9e18 ? static_cast<std::int64_t>(end) : no_deadline;
}

int waiting_threads() { return threads; }

weft_status interruptible(const Wait& wait, std::int64_t deadline_ns) {
    const Counted counted;
    thread_local const bool is_main_thread = getpid() == gettid();
    if (!is_main_thread) return wait_elsewhere(wait, deadline_ns);
    {
        const std::int64_t soon_ns = now_ns() + short_ns;
        const nb::gil_scoped_release unlocked;
        const weft_status status = wait(std::min(deadline_ns, soon_ns));
        const bool is_over = status != WEFT_TIMED_OUT || deadline_ns <= soon_ns;
        if (is_over && status != WEFT_INTERRUPTED) return status;
    }
    return wait_in_main_thread(wait, deadline_ns);
}

}  // namespace weft_python
