#include "fiber/preemptor.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

namespace weft::fibers {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
// What a look takes, with a function of the program that combines what has come.
constexpr std::size_t look_bytes = 24 * 1024;
// Where the kernel does not say what it needs for the registers: AVX-512's.
constexpr std::size_t registers_bytes_min = 4 * 1024;
// Without slices.
constexpr std::int64_t look_every_ns = 10'000'000;
// A handler of the program's should be over by then.
constexpr std::int64_t retry_ns = 50'000;
// A look gives up after a thousand rounds that have moved something, which take longer.
constexpr std::int64_t long_look_ns = 100'000;

sigset_t only_signal() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, Preemptor::signal);
    return set;
}

struct sigaction before;  // the program's
Preemptor::Handler handler = nullptr;

void call_program(int signal, siginfo_t* info, void* context) {
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    }
}

// From a timer, a descriptor (F_SETSIG) or the engine; not urgent data of the program's, nor from
// raise() or kill().
bool may_be_ours(const siginfo_t& info) {
    return info.si_code == SI_TIMER || info.si_code == SI_QUEUE ||
           (info.si_code >= POLL_IN && info.si_code <= POLL_HUP);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const int saved = errno;
    // While the program's is pending, one of ours would be lost: so the program's counts as ours,
    // too.
    const bool is_of_program = !may_be_ours(*info);
    if (is_of_program) call_program(signal, info, context);
    const bool was_in_region = handler(*static_cast<ucontext_t*>(context));
    if (!was_in_region && !is_of_program) call_program(signal, info, context);
    errno = saved;
}

// Once in a process, for good: where nothing is preempted, it does what was done before.
void install(Preemptor::Handler calls) {
    static std::once_flag installed;
    std::call_once(installed, [calls] {
        handler = calls;
        struct sigaction action {};
        action.sa_sigaction = on_signal;
        // (On the fiber's own stack: others must be able to use the alternate one meanwhile.)
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(Preemptor::signal, nullptr, &before);
        sigaction(Preemptor::signal, &action, nullptr);
    });
}

}  // namespace

std::size_t Preemptor::stack_bytes() {
#if defined(AT_MINSIGSTKSZ)
    static const std::size_t registers = getauxval(AT_MINSIGSTKSZ);
#else
    static const std::size_t registers = 0;
#endif
    return std::max(registers, registers_bytes_min) + look_bytes;
}

Preemptor::~Preemptor() {
    if (!is_prepared_) return;
    timer_delete(timer_);
    if (was_blocked_) return;
    // One may be left.
    const sigset_t set = only_signal();
    constexpr timespec now{};
    siginfo_t info;
    bool is_of_program = false;
    while (sigtimedwait(&set, &info, &now) > 0) is_of_program |= !may_be_ours(info);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    if (is_of_program) raise(signal);
}

void Preemptor::prepare(Handler calls) {
    if (is_prepared_) return;
    install(calls);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
        throw std::system_error(errno, std::generic_category(), "timer_create");
    const sigset_t set = only_signal();
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, &set, &mask);
    was_blocked_ = sigismember(&mask, signal) == 1;
    is_prepared_ = true;
}

void Preemptor::begin_region(std::int64_t slice_ns) {
    begin_slice(slice_ns);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigdelset(&mask, signal);
    std::memcpy(region_mask_, &mask, mask_bytes);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

void Preemptor::end_region() {
    const sigset_t set = only_signal();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    pause();
}

bool Preemptor::interrupts_region(const ucontext_t& interrupted) const {
    return std::memcmp(&interrupted.uc_sigmask, region_mask_, mask_bytes) == 0;
}

bool Preemptor::is_slice_over() const { return slice_end_ns_ != 0 && now_ns() >= slice_end_ns_; }

std::int64_t Preemptor::now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

void Preemptor::retry() {
    set_timer(retry_ns);
    is_retry_ = true;
}

void Preemptor::end_retry() {
    if (!std::exchange(is_retry_, false) || slice_end_ns_ == 0) return;
    set_timer(std::max<std::int64_t>(slice_end_ns_ - now_ns(), 1));
}

void Preemptor::retry_after_long_look(std::int64_t begin_ns) {
    if (slice_end_ns_ == 0 && now_ns() - begin_ns > long_look_ns) retry();
}

void Preemptor::begin_slice(std::int64_t slice_ns) {
    if (slice_ns == 0) return set_timer(look_every_ns);
    slice_end_ns_ = now_ns() + slice_ns;
    set_timer(slice_ns);
}

// 0: it does not come.
void Preemptor::set_timer(std::int64_t after_ns) {
    if (after_ns == 0 && std::exchange(slice_end_ns_, 0) == 0) return;
    itimerspec when{};
    when.it_value.tv_sec = after_ns / second_ns;
    when.it_value.tv_nsec = after_ns % second_ns;
    timer_settime(timer_, 0, &when, nullptr);
}

void Preemptor::keep_mask(ucontext_t& interrupted) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigdelset(&mask, signal);
    std::memcpy(&interrupted.uc_sigmask, &mask, mask_bytes);
    std::memcpy(region_mask_, &mask, mask_bytes);
}

}  // namespace weft::fibers
