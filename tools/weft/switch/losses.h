// Which packets are lost: each by itself, with the same probability. Not thread safe.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace weft {

struct PacketRun {
    std::uint32_t first;
    std::uint32_t packets;
    bool operator==(const PacketRun&) const = default;
};

class Losses {
  public:
    Losses(double probability, std::uint64_t seed) : probability_(probability), random_(seed) {
        left_ = packets_until_loss();
    }

    // Those of the next packets that arrive.
    std::vector<PacketRun> survivors(std::uint32_t packets) {
        std::vector<PacketRun> runs;
        std::uint32_t first = 0;
        while (probability_ > 0 && left_ < packets - first) {
            if (left_ > 0) runs.push_back({first, static_cast<std::uint32_t>(left_)});
            first += static_cast<std::uint32_t>(left_) + 1;
            left_ = packets_until_loss();
        }
        if (first < packets) runs.push_back({first, packets - first});
        if (probability_ > 0) left_ -= packets - first;
        return runs;
    }

  private:
    std::uint64_t packets_until_loss() {
        if (probability_ <= 0) return 0;
        return std::geometric_distribution<std::uint64_t>(probability_)(random_);
    }

    double probability_;
    std::mt19937_64 random_;
    std::uint64_t left_;  // packets that arrive before the next one that does not
};

}  // namespace weft
