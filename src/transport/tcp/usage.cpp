// What the transport holds, and an upper bound for any job.
#include <bit>

#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Refusal;

Usage TcpTransport::usage() const {
    Usage usage{.connections = counters_.connections, .descriptors = descriptors()};
    usage.bytes = sizeof *this + staging_.capacity() + posts_.held_bytes() +
                  unexpected_.held_bytes() + places_.held_bytes() + blocks_.held_bytes() +
                  reports_.held_bytes() + wires_.size() * sizeof(Wire);
    for (const Peer& peer : peers_) {
        usage.bytes += sizeof peer + peer.addresses.capacity() * sizeof(tcp::Address) +
                       (peer.shared.capacity() + peer.dedicated.capacity()) * sizeof(void*) +
                       peer.dedicated.size() * sizeof(DedicatedConnection);
        for (const auto& shared : peer.shared) {
            if (!shared) continue;
            usage.bytes += sizeof *shared + shared->sends.held_bytes() +
                           shared->receives.held_bytes() + shared->controls.held_bytes() +
                           shared->ready.held_bytes() + shared->orphan.capacity();
        }
    }
    for (std::size_t i = 1; i < tcp::refusal_kinds; ++i)
        usage.turned_away.emplace_back(tcp::refusal_name(static_cast<Refusal>(i)),
                                       counters_.refused[i]);
    usage.turned_away.emplace_back("too slow", counters_.too_slow);
    usage.turned_away.emplace_back("hung up", counters_.hung_up);
    usage.turned_away.emplace_back("crowded out", counters_.crowded_out);
    usage.turned_away.emplace_back("not needed", counters_.superfluous);
    return usage;
}

Usage TcpTransport::usage_max(const Extent& job) {
    const std::size_t ranks = job.ranks;
    const std::size_t streams = job.streams;
    const std::size_t peers = ranks - 1;
    const std::size_t shared = peers * job.connections;
    const std::size_t dedicated = peers * job.dedicated;
    // When two calls cross, both wires may be used. And a peer may still have dedicated connections
    // that this rank has parted from while new ones are up already.
    const std::size_t wires = 2 * shared + 2 * 2 * dedicated;
    Usage usage{.connections = wires, .descriptors = wires + job.connections + own_descriptors};
    // A table grows to four times what it holds, and keeps the previous one.
    using Sends = LaneTable<tcp::SendLane>;
    const std::size_t lanes = streams + 1 <= Sends::size_min / 4 * 3
                                  ? Sends::size_min
                                  : 2 * std::bit_ceil(4 * streams + 8);
    constexpr std::size_t fifo_slots_min = 8;
    const std::size_t of_shared = sizeof(void*) + sizeof(SharedConnection) +
                                  lanes * (sizeof(tcp::SendLane) + sizeof(tcp::ReceiveLane)) +
                                  std::bit_ceil(std::max(streams, fifo_slots_min)) *
                                      (sizeof(tcp::Frame) + sizeof(std::uint64_t));
    // The posts of all streams, and the one for a peer's failure notice.
    const std::size_t posts = (peers * (2 * streams + 1) + 64) * sizeof(tcp::Post);
    const std::size_t places = job.dedicated > 0 ? (2 * dedicated + 64) * sizeof(Place) : 0;
    // Blocks are powers of two.
    const std::size_t unexpected = 2 * peers * Credit::max_among(ranks);
    usage.bytes = sizeof(TcpTransport) + staging_bytes +
                  ranks * (sizeof(Peer) + job.connections * sizeof(tcp::Address)) +
                  shared * of_shared +
                  dedicated * (2 * sizeof(void*) + sizeof(DedicatedConnection)) +
                  wires * sizeof(Wire) + posts + places + unexpected;
    return usage;
}

}  // namespace weft
