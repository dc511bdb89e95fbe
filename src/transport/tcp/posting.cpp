// Posts: which connection a message takes, or which connections its pieces take.
#include "transport/tcp/shared_connection.h"
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
    // (Messages of a lost peer still count.)
    if (peer.lost && !shared.has_unexpected(lane.stream)) [[unlikely]]
        return refuse(peer, lane, token);
    return shared.receive(lane.stream, data, token);
}

NextMessage TcpTransport::next_on(const Lane& lane) {
    Peer& peer = peer_of(lane.peer);
    const auto& shared = peer.shared[peer.first_connection(lane.stream)];
    if (shared && shared->has_unexpected(lane.stream)) return NextMessage::here;
    return peer.lost ? NextMessage::gone : NextMessage::none;
}

// On the first connection: how a peer has ended is the same on all.
void TcpTransport::expect_from(Rank rank, int change) {
    Peer& peer = peer_of(rank);
    SharedConnection& shared = shared_at(peer, 0);
    const bool was_expected = peer.expected > 0;
    peer.expected += change;
    if (peer.lost || was_expected == (peer.expected > 0)) return;
    if (was_expected) return core().expect_less(shared);
    core().expect(shared);
    need(shared);
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

// How posts of shared connections end, and the pieces of cut messages with them.
namespace weft::tcp {

Post& SharedConnection::take_post(std::uint64_t stream, std::byte* data, std::uint64_t bytes,
                                  Token token) {
    Post* post = core_.posts.take(stream);
    *post = {.data = data, .bytes = bytes, .message_bytes = bytes, .token = token, .first = post};
    return *post;
}

// The post's bytes have moved, or it has met a message that does not fit. Reports the message when
// all its pieces have ended.
void SharedConnection::end(LaneQueue& lane, Post& post, const Outcome& how) {
    Post& first = *post.first;
    leave(lane, post);
    LaneQueue* queue = &lane;
    if (!post.stands_for_message()) {
        lane.posts.take_first();
        if (first.is_settled) return free_if_done(first);
        queue = &lane_of_first(lane);
    }
    if (first.pieces_left > 0) return;
    queue->end(&first, how,
               [&](Post* ended, const Outcome& outcome) { report(*queue, ended, outcome); });
}

// The peer is lost.
void SharedConnection::end_all(LaneQueue& lane, const Outcome& how) {
    lane.end_all(how, [&](Post* post, const Outcome& outcome) {
        leave(lane, *post);
        if (post->stands_for_message())
            report(lane, post, outcome);
        else
            free_if_done(*post->first);
    });
}

// The context is gone: nothing is reported.
void SharedConnection::forget_all(LaneQueue& lane) {
    lane.forget([&](Post* post) {
        leave(lane, *post);
        if (post->is_first()) post->is_settled = true;
        free_if_done(*post->first);
    });
}

void SharedConnection::report(const LaneQueue& lane, Post* post, const Outcome& how) {
    core_.reports.add({post->token, how.code, peer.rank, how.sent_bytes, how.expected_bytes},
                      lane.stream);
    post->is_settled = true;
    free_if_done(*post);
}

// Nothing moves for this post any more.
void SharedConnection::leave(const LaneQueue& lane, Post& post) {
    if (std::exchange(post.has_ended, true)) return;
    --post.first->pieces_left;
    if (!is_notice(lane.stream)) core_.expect_less(*this);
}

void SharedConnection::free_if_done(Post& first) {
    if (first.is_settled && first.pieces_left == 0) core_.give_back_pieces(&first);
}

// On which a piece of the stream's messages travels.
SharedConnection& SharedConnection::connection_of(std::uint64_t stream, std::uint32_t piece) {
    return static_cast<SharedConnection&>(
        core_.link_at(peer, peer.connection_of(StreamId::unpack(stream), piece)));
}

// Where the first pieces of the lane's messages are.
LaneQueue& SharedConnection::lane_of_first(const LaneQueue& lane) {
    SharedConnection& first = connection_of(lane.stream, 0);
    // (A connection's two tables are of different types.)
    const bool sends = sends_.find_existing(lane.stream) == &lane;
    return sends ? static_cast<LaneQueue&>(*first.sends_.find_existing(lane.stream))
                 : *first.receives_.find_existing(lane.stream);
}

}  // namespace weft::tcp
