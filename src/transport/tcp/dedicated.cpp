// Which streams have dedicated connections.
#include <algorithm>

#include "transport/tcp/tcp.h"

namespace weft {

void TcpTransport::dedicate(std::uint64_t context, std::uint32_t streams) {
    WEFT_ASSERT(context != 0 && streams <= streams_max);
    if (streams > 0) dedicated_.push_back({context, streams});
}

std::uint32_t TcpTransport::dedicated_streams(std::uint64_t context) const {
    for (const DedicatedStreams& of : dedicated_) {
        if (of.context == context) return of.streams;
    }
    return 0;
}

bool TcpTransport::carries(const Lane& lane) const {
    return lane.stream.stream() < dedicated_streams(lane.stream.context()) &&
           !peers_[static_cast<std::size_t>(lane.peer)].addresses.empty();
}

tcp::DedicatedConnection* TcpTransport::dedicated_of(Peer& peer, StreamId stream) {
    if (stream.stream() >= dedicated_streams(stream.context())) return nullptr;
    return static_cast<DedicatedConnection*>(&link_at(peer, stream.packed()));
}

Posted TcpTransport::hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                          Token token) {
    DedicatedConnection* dedicated = dedicated_of(peer_of(lane.peer), lane.stream);
    WEFT_ASSERT(dedicated != nullptr);
    may_move = moved_bytes_max;
    return dedicated->hold(sends, messages, place, token);
}

void TcpTransport::release(ListPlace& place) {
    may_move = moved_bytes_max;
    DedicatedConnection::release(place);
}

void TcpTransport::fail(ListPlace& place, int error) { DedicatedConnection::fail(place, error); }

void TcpTransport::keep_open(int socket) {
    connector_.for_each_wire(
        [&](Wire& wire) { wire.stays_open = wire.stays_open || wire.fd.get() == socket; });
}

// Closes the dedicated connections of such contexts.
template <class Condition>
void TcpTransport::end_dedicated(Condition is_over, bool in_good_order) {
    for (Peer& peer : peers_) {
        std::erase_if(peer.dedicated, [&](const auto& dedicated) {
            if (!is_over(dedicated->stream().context())) return false;
            if (in_good_order)
                dedicated->part();
            else
                dedicated->drop();
            connector_.forget(*dedicated);
            --links_;
            return true;
        });
    }
}

void TcpTransport::take_back(std::uint64_t context, bool in_good_order) {
    end_dedicated([&](std::uint64_t of) { return of == context; }, in_good_order);
    std::erase_if(dedicated_, [&](const DedicatedStreams& of) { return of.context == context; });
}

// ... of contexts that peers have, and this rank will not get.
void TcpTransport::drop_unwanted_dedicated() {
    end_dedicated([&](std::uint64_t of) { return !contexts.wants(of); }, /*in_good_order=*/true);
}

}  // namespace weft
