// Changes the slice of another thread.
#include "bench/relay/long_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "base/clock.h"
#include "base/thread.h"
#include "bench/sleep.h"
#include "bench/threads.h"

namespace weft::bench {
namespace {

// 0: not known, or no such thread.
std::uint64_t slice_ns(pid_t thread, SchedAttributes& attributes) {
    const bool is_known =
        thread != 0 && syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) == 0;
    return is_known ? attributes.runtime : 0;
}

}  // namespace

bool has_short_slice() {
    bool has = false;
    std::thread([&has] { has = request_short_slice(); }).join();
    return has;
}

bool give_progress_thread_a_long_slice() {
    constexpr int tries = 1000;
    constexpr std::int64_t pause_ns = 1'000'000;
    SchedAttributes attributes{};
    pid_t thread = 0;
    // The thread asks for its slice when it first runs.
    for (int i = 0; i < tries && slice_ns(thread, attributes) != short_slice_ns; ++i) {
        if (i > 0) sleep_until(now_ns() + pause_ns);
        const std::vector<pid_t> found = threads_named("weft-progress");
        thread = found.empty() ? 0 : found[0];
    }
    attributes.size = sizeof attributes;
    attributes.runtime = 0;  // the scheduler's own choice
    return thread != 0 && syscall(SYS_sched_setattr, thread, &attributes, 0) == 0 &&
           slice_ns(thread, attributes) > short_slice_ns;
}

}  // namespace weft::bench
