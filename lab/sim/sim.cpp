#include "lab/sim/sim.h"

namespace weft {

SimTransport::SimTransport(SimNetwork& network, Rank rank) : network_(network), rank_(rank) {
    WEFT_ASSERT(rank >= 0 && rank < network.ranks());
}

Posted SimTransport::post_send(const Lane& lane, Bytes data, Token token) {
    return network_.post_send(rank_, lane, data, token);
}

Posted SimTransport::post_recv(const Lane& lane, MutBytes data, Token token) {
    return network_.post_recv(rank_, lane, data, token);
}

std::size_t SimTransport::poll(std::span<Completion> done) { return network_.poll(rank_, done); }

void SimTransport::abandon(std::uint64_t context) { network_.abandon(rank_, context); }
void SimTransport::admit(std::uint64_t context) { network_.admit(rank_, context); }
void SimTransport::retire(std::uint64_t context) { network_.retire(rank_, context); }
void SimTransport::keep_early(bool keep) { network_.keep_early(rank_, keep); }

}  // namespace weft
