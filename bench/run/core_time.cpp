#include "bench/run/core_time.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "bench/sleep.h"
#include "bench/spinner.h"

namespace weft::bench {
namespace {

constexpr std::int64_t patience_ns = 10'000'000'000;

std::unique_ptr<Spinner> the_spinner;

// Sleeps while the spinner works alone. Returns its work per nanosecond.
double speed_alone(const Spinner& spinner, std::int64_t duration_ns) {
    const std::uint64_t before = spinner.done();
    const std::int64_t begin = now_ns();
    std::int64_t end = begin;
    std::uint64_t done = 0;
    // The spinner may have to wait for its turn.
    while (done == 0 && end - begin < patience_ns) {
        sleep_until(end + duration_ns);
        end = now_ns();
        done = spinner.done() - before;
    }
    if (done == 0) fail("a process of policy SCHED_IDLE gets no CPU time on this core");
    return static_cast<double>(done) / static_cast<double>(end - begin);
}

}  // namespace

void prepare_core_time() { the_spinner = std::make_unique<Spinner>(); }

std::string core_time_absence(const Job& world) {
    return first_sentence(world, the_spinner ? "" : "no process counts what its core has left");
}

CoreTime measure_core_time(const Job& world, double window_us,
                           const std::function<void()>& action) {
    Spinner& spinner = *the_spinner;
    constexpr std::int64_t settle_ns = 200'000;
    constexpr std::int64_t alone_min_ns = 2'000'000;
    constexpr std::int64_t alone_max_ns = 10'000'000;
    constexpr std::int64_t margin_ns = 50'000;  // waking up must not disturb the count
    const auto window_ns = static_cast<std::int64_t>(window_us * 1000);
    must(weft_barrier(world.comm), "weft_barrier");  // no messages are in flight
    spinner.resume();
    sleep_until(now_ns() + settle_ns);
    const double speed = speed_alone(spinner, std::clamp(window_ns, alone_min_ns, alone_max_ns));
    must(weft_barrier(world.comm), "weft_barrier");

    const std::uint64_t before = spinner.done();
    const std::int64_t begin = now_ns();
    const std::int64_t window_end = begin + window_ns;
    spinner.mark_at(window_end);
    action();
    const std::int64_t end = now_ns();
    std::uint64_t after = spinner.done();
    if (end < window_end) {
        sleep_until(window_end + margin_ns);
        after = spinner.marked();
    }
    spinner.pause();

    const auto counted_ns = static_cast<double>(std::max(end, window_end) - begin);
    const double alone_ns = static_cast<double>(after - before) / speed;
    return {static_cast<double>(end - begin) / 1000, (counted_ns - alone_ns) / 1000};
}

}  // namespace weft::bench
