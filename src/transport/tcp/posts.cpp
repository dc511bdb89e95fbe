// How posts of shared connections end, and the pieces of cut messages with them.
#include "transport/tcp/shared_connection.h"

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
