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
    std::size_t poll(std::span<Completion> done) override;
    void abandon(std::uint64_t context) override;
    void admit(std::uint64_t context) override;
    void retire(std::uint64_t context) override;
    void keep_early(bool keep) override;

  private:
    SimNetwork& network_;
    Rank rank_;
};

}  // namespace weft
