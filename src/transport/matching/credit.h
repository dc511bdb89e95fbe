// Bounds what a rank must keep of one peer's unexpected messages: the sender spends credit for each
// eager message, and the receiver gives it back when the message has met its receive.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft {

class Credit {
  public:
    // In a job of so many ranks: a fixed amount over all peers, within limits for each.
    static constexpr std::uint64_t max_among(std::size_t ranks) {
        constexpr std::uint64_t of_all = 64 << 20;
        return std::clamp<std::uint64_t>(of_all / ranks, 64 << 10, 1 << 20);
    }
    // What an eager message costs.
    static constexpr std::uint64_t cost_of(std::uint64_t bytes) { return bytes + 64; }

    explicit Credit(std::uint64_t max) : max_(max) {}

    // The sender's side.
    bool covers(std::uint64_t bytes) const { return used_ + cost_of(bytes) <= max_; }
    void spend(std::uint64_t bytes) { used_ += cost_of(bytes); }
    void regain(std::uint64_t credit) { used_ -= std::min(used_, credit); }

    // The receiver's side: credit that the peer gets back. Returns how much is to be sent now, all
    // that is owed or 0.
    std::uint64_t give_back(std::uint64_t credit) {
        owed_ += credit;
        return owed_ < max_ / 4 ? 0 : std::exchange(owed_, 0);
    }
    // It could not be sent.
    void take_back(std::uint64_t credit) { owed_ += credit; }

  private:
    std::uint64_t max_;
    std::uint64_t used_ = 0;  // for our messages, not given back yet
    std::uint64_t owed_ = 0;  // for the peer's, to be given back
};

}  // namespace weft
