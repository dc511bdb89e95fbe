// One rank's end of the simulated network.
//
// Thread safety: none. The network outlives it.
#pragma once

#include "lab/sim/network.h"

namespace weft {

class SimTransport final : public Transport {
  public:
    SimTransport(SimNetwork& network, Rank rank);

    const char* name() const override { return "sim"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    NextMessage next_on(const Lane& lane) override { return network_.next_on(rank_, lane); }
    std::uint64_t next_changes() const override { return network_.next_changes(rank_); }
    void expect_from(Rank peer, int change) override { network_.expect_from(rank_, peer, change); }
    std::size_t poll(std::span<Completion> done) override;
    void cancel_context(std::uint64_t context) override;
    void open_context(std::uint64_t context) override;
    void close_context(std::uint64_t context) override;
    void buffer_unknown(bool keep) override;

  private:
    SimNetwork& network_;
    Rank rank_;
};

}  // namespace weft
