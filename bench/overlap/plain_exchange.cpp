// The exchange.
#include "bench/overlap/plain_exchange.h"

#include <algorithm>

#include "bench/core_time.h"

namespace weft::bench {
namespace {

constexpr std::size_t burst_bytes = 256 << 10;  // twice what an emulated link lets through

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
    const CoreTime time = measure_core_time(
        job_, spinner_, window_us, [&] { use_up_burst(); }, [&] { exchange(); });
    return {time.took, time.lost};
}

}  // namespace weft::bench
