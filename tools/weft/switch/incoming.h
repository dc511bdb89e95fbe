// The direction of a link that leads into its node: when a packet that has come to the switch gets
// there. Knows no clock. Not thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace weft {

struct LinkRate {
    double bits_per_s = 0;         // 0: unlimited
    int burst_bytes = 128 * 1024;  // pass at once after a pause
};

class Incoming {
  public:
    static constexpr std::int64_t queue_max_ns = 50'000'000;

    explicit Incoming(LinkRate rate)
        : byte_ns_(rate.bits_per_s > 0 ? 8e9 / rate.bits_per_s : 0),
          burst_ns_(static_cast<std::int64_t>(rate.burst_bytes * byte_ns_)) {}

    // For packets that come now and travel for so long behind the limit of the rate, which is the
    // token bucket of clusters without a switch. None: the queue in front of it is full. Packets
    // never overtake one another.
    std::optional<std::int64_t> arrival(std::int64_t now_ns, std::uint64_t bytes,
                                        std::int64_t travel_ns) {
        const auto cost_ns = static_cast<std::int64_t>(static_cast<double>(bytes) * byte_ns_);
        const std::int64_t paid_ns = std::max(paid_ns_, now_ns - burst_ns_) + cost_ns;
        const std::int64_t start_ns = std::max(now_ns, paid_ns);
        if (start_ns - now_ns > queue_max_ns + burst_ns_) return std::nullopt;
        paid_ns_ = paid_ns;
        last_ns_ = std::max(last_ns_, start_ns + travel_ns);
        return last_ns_;
    }

  private:
    double byte_ns_;
    std::int64_t burst_ns_;
    std::int64_t paid_ns_ = 0;  // tokens up to this time have been spent
    std::int64_t last_ns_ = 0;
};

}  // namespace weft
