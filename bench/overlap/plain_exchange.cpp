// The exchange.
#include "bench/overlap/plain_exchange.h"

#include <algorithm>

#include "bench/core_time.h"

namespace weft::bench {
PlainExchange::PlainExchange(const Job& job, Spinner& spinner, Burst* burst)
    : job_(job), spinner_(spinner), burst_(burst), sockets_(job) {}

void PlainExchange::prepare(const Collective& collective, std::int64_t bytes) {
    const bool is_root = job_.rank == 0;
    sends_ = is_root ? collective.plain.from_root : collective.plain.to_root;
    receives_ = is_root ? collective.plain.to_root : collective.plain.from_root;
    reduces_ = receives_ && collective.plain.reduces;
    // Even without data there is a message.
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
        job_, spinner_, window_us,
        [&] {
            if (burst_ != nullptr) burst_->use_up_before(static_cast<std::int64_t>(bytes_));
        },
        [&] { exchange(); });
    return {time.took, time.lost};
}

}  // namespace weft::bench
