// The exchange, and counting what it takes from the spinner.
#include "bench/overlap/plain_exchange.h"

#include <algorithm>

#include "base/clock.h"
#include "bench/sleep.h"

namespace weft::bench {
namespace {

constexpr std::int64_t patience_ns = 10'000'000'000;
constexpr std::size_t burst_bytes = 256 << 10;  // twice what an emulated link lets through

// Sleeps while the spinner works alone. Returns what it does in a nanosecond.
double speed_alone(const Spinner& spinner, std::int64_t duration_ns) {
    const std::uint64_t before = spinner.done();
    const std::int64_t begin = now_ns();
    std::int64_t end = begin;
    std::uint64_t done = 0;
    // Beside other work it may have to wait for its turn.
    while (done == 0 && end - begin < patience_ns) {
        sleep_until(end + duration_ns);
        end = now_ns();
        done = spinner.done() - before;
    }
    if (done == 0) fail("a process of policy SCHED_IDLE gets no CPU time on this core");
    return static_cast<double>(done) / static_cast<double>(end - begin);
}

}  // namespace

PlainExchange::PlainExchange(const Job& job, Spinner& spinner, bool is_limited)
    : job_(job),
      spinner_(spinner),
      is_limited_(is_limited),
      sockets_(job),
      burst_(2 * burst_bytes) {}

void PlainExchange::use_up_burst() {
    constexpr std::size_t small = 4096;  // has no burst to profit from
    if (!is_limited_ || bytes_ <= small) return;
    must(weft_barrier(job_.comm),
         "weft_barrier");  // this must not get in the way of other messages
    sockets_.exchange(std::span(burst_).first(burst_bytes), std::span(burst_).last(burst_bytes));
}

void PlainExchange::prepare(const Collective& collective, std::int64_t bytes) {
    const bool is_root = job_.rank == 0;
    sends_ = is_root ? collective.plain.from_root : collective.plain.to_root;
    receives_ = is_root ? collective.plain.to_root : collective.plain.from_root;
    reduces_ = receives_ && collective.plain.reduces;
    // Without a size there is a message all the same, that says it has come.
    bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    send_.assign((bytes_ + sizeof(double) - 1) / sizeof(double), 1);
    recv_.assign(send_.size(), 2);
}

void PlainExchange::exchange() {
    sockets_.exchange(std::as_bytes(std::span(send_)).first(sends_ ? bytes_ : 0),
                      std::as_writable_bytes(std::span(recv_)).first(receives_ ? bytes_ : 0));
    if (!reduces_) return;
    for (std::size_t i = 0; i < recv_.size(); ++i) recv_[i] += send_[i];
}

PlainTimes PlainExchange::measure(double window_us) {
    constexpr std::int64_t settle_ns = 200'000;
    constexpr std::int64_t alone_min_ns = 2'000'000;
    constexpr std::int64_t alone_max_ns = 10'000'000;
    constexpr std::int64_t margin_ns = 50'000;  // waking up must not disturb what is counted
    const auto window_ns = static_cast<std::int64_t>(window_us * 1000);
    must(weft_barrier(job_.comm), "weft_barrier");  // nobody's messages are under way
    spinner_.resume();
    sleep_until(now_ns() + settle_ns);
    const double speed = speed_alone(spinner_, std::clamp(window_ns, alone_min_ns, alone_max_ns));
    use_up_burst();
    must(weft_barrier(job_.comm), "weft_barrier");

    const std::uint64_t before = spinner_.done();
    const std::int64_t begin = now_ns();
    const std::int64_t window_end = begin + window_ns;
    spinner_.mark_at(window_end);
    exchange();
    const std::int64_t end = now_ns();
    std::uint64_t after = spinner_.done();
    if (end < window_end) {
        // What is still in the sockets' buffers or under way costs this core as well.
        sleep_until(window_end + margin_ns);
        after = spinner_.marked();
    }
    spinner_.pause();

    const auto counted_ns = static_cast<double>(std::max(end, window_end) - begin);
    const double alone_ns = static_cast<double>(after - before) / speed;
    return {static_cast<double>(end - begin) / 1000, (counted_ns - alone_ns) / 1000};
}

}  // namespace weft::bench
