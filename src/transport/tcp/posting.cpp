// Posts: which connection a message takes, or which connections its pieces take.
#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Post;

Posted TcpTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    if (peer.lost) [[unlikely]]
        return refuse(peer, lane, token);
    may_move = moved_bytes_max;
    if (DedicatedConnection* dedicated = dedicated_of(peer, lane.stream))
        return dedicated->send(data, token);
    if (peer.cuts(lane.stream, data.size())) return send_pieces(peer, lane, data, token);
    return shared_at(peer, peer.first_connection(lane.stream)).send(lane.stream, data, token);
}

Posted TcpTransport::post_recv(const Lane& lane, MutBytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    if (DedicatedConnection* dedicated = dedicated_of(peer, lane.stream))
        return dedicated->receive(data, token);
    SharedConnection& shared = shared_at(peer, peer.first_connection(lane.stream));
    // (What a lost peer has sent still counts.)
    if (peer.lost && !shared.has_unexpected(lane.stream)) [[unlikely]]
        return refuse(peer, lane, token);
    return shared.receive(lane.stream, data, token);
}

Posted TcpTransport::send_pieces(Peer& peer, const Lane& lane, Bytes data, Token token) {
    const std::uint64_t stream = lane.stream.packed();
    const std::uint32_t links = peer.links_of(lane.stream);
    auto connection_of = [&](std::uint32_t piece) -> SharedConnection& {
        return shared_at(peer, peer.connection_of(lane.stream, piece));
    };
    for (std::uint32_t i = 0; i < links; ++i) (void)connection_of(i).reserve_send(stream);
    Post* const whole =
        take_pieces(stream, const_cast<std::byte*>(data.data()), data.size(), 0, links);
    // The peer may be lost by a call; not between two pieces.
    for (std::uint32_t i = 0; i < links; ++i) need(connection_of(i));
    if (peer.lost) {
        give_back_pieces(whole);
        return refuse(peer, lane, token);
    }
    whole->token = token;
    whole->pieces_left = links;
    std::uint32_t number = 0;
    for (Post* piece = whole; piece != nullptr;) {
        Post* const next = piece->next_piece;
        piece->first = whole;
        connection_of(number++).send(lane.stream, *piece);
        piece = next;
    }
    return Posted::pending;
}

// For a post that needs a lost peer.
Posted TcpTransport::refuse(Peer& peer, const Lane& lane, Token token) {
    posts.reserve_reports(1);
    report_loss(peer);
    reports.add({.token = token, .code = peer.loss, .peer = lane.peer}, lane.stream.packed());
    return Posted::pending;
}

}  // namespace weft
