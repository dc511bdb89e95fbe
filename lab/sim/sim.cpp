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

void SimTransport::cancel_context(std::uint64_t context) {
    network_.cancel_context(rank_, context);
}
void SimTransport::open_context(std::uint64_t context) { network_.open_context(rank_, context); }
void SimTransport::close_context(std::uint64_t context) { network_.close_context(rank_, context); }
void SimTransport::buffer_unknown(bool keep) { network_.buffer_unknown(rank_, keep); }

}  // namespace weft
