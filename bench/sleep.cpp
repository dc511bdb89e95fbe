// Sleeps on the monotonic clock.
#include "bench/sleep.h"

#include <sys/prctl.h>
#include <time.h>

#include <cerrno>

namespace weft::bench {

void sleep_until(std::int64_t time_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    prctl(PR_SET_TIMERSLACK, 1);  // the kernel would add 50 us
    const timespec until{time_ns / second, time_ns % second};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
    prctl(PR_SET_TIMERSLACK, 0);  // the default
}

}  // namespace weft::bench
