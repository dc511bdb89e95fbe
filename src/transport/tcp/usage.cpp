// What the transport holds, and an upper bound for any job.
#include <bit>

#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Refusal;

Usage TcpTransport::usage() const {
    const tcp::Counters& counted = counters();
    Usage usage{.connections = counted.connections, .descriptors = descriptors()};
    usage.bytes = sizeof *this + staging.capacity() + spare.capacity() + posts.held_bytes() +
                  unexpected.held_bytes() + places.held_bytes() + reports.held_bytes() +
                  connector_.wires().size() * sizeof(Wire);
    for (const Peer& peer : peers_) {
        usage.bytes += sizeof peer + peer.addresses.capacity() * sizeof(tcp::Address) +
                       (peer.shared.capacity() + peer.dedicated.capacity()) * sizeof(void*) +
                       peer.dedicated.size() * sizeof(DedicatedConnection);
        for (const auto& shared : peer.shared) usage.bytes += shared ? shared->held_bytes() : 0;
    }
    for (std::size_t i = 1; i < tcp::refusal_kinds; ++i)
        usage.turned_away.emplace_back(tcp::refusal_name(static_cast<Refusal>(i)),
                                       counted.refused[i]);
    usage.turned_away.emplace_back("too slow", counted.too_slow);
    usage.turned_away.emplace_back("hung up", counted.hung_up);
    usage.turned_away.emplace_back("crowded out", counted.crowded_out);
    usage.turned_away.emplace_back("not needed", counted.superfluous);
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
    // A table grows to twice what it holds, as a power of two, and keeps the previous one.
    using Sends = LaneTable<tcp::SendLane>;
    const std::size_t lanes = streams + 1 <= Sends::size_min / 4 * 3
                                  ? Sends::size_min
                                  : 2 * std::bit_ceil(2 * streams + 4);
    constexpr std::size_t fifo_slots_min = 8;
    const std::size_t of_shared = sizeof(void*) + sizeof(SharedConnection) +
                                  lanes * SharedConnection::lane_bytes +
                                  std::bit_ceil(std::max(streams, fifo_slots_min)) *
                                      (sizeof(tcp::Frame) + sizeof(std::uint64_t));
    // The posts of all streams, in a piece for each link, the one for a peer's failure notice, and
    // spares; and room to report each of them, up to twice what is needed.
    constexpr std::size_t report_bytes = 2 * (sizeof(Completion) + sizeof(std::uint64_t));
    const std::size_t pieces = 2 * streams * job.connections;
    const std::size_t post_count = peers * (pieces + 1) + 2 * ranks + 2 * Pool<tcp::Post>::batch;
    const std::size_t place_count = job.dedicated > 0 ? 2 * dedicated + 64 : 0;
    const std::size_t post_bytes = post_count * sizeof(tcp::Post) +
                                   place_count * sizeof(tcp::Place) +
                                   (post_count + 2 * place_count + ranks + streams) * report_bytes;
    // Blocks are powers of two.
    const std::size_t unexpected_bytes = 2 * peers * Credit::max_among(ranks);
    usage.bytes =
        sizeof(TcpTransport) + staging_bytes + std::max(tcp::part_bytes, Credit::max_among(ranks)) +
        ranks * (sizeof(Peer) + job.connections * sizeof(tcp::Address)) + shared * of_shared +
        dedicated * (2 * sizeof(void*) + sizeof(DedicatedConnection)) + wires * sizeof(Wire) +
        post_bytes + unexpected_bytes;
    return usage;
}

}  // namespace weft
