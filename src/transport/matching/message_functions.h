// The functions of MessageTransport, for the file that instantiates it: posts, contexts.
#pragma once

#include "transport/matching/message_receiving.h"
#include "transport/matching/message_sending.h"
#include "transport/matching/message_transport.h"

namespace weft {

template <class Self, class Peer>
MessageTransport<Self, Peer>::MessageTransport(Rank rank, std::size_t ranks, const Limits& limits)
    : rank_(rank),
      limits_(limits),
      peers_(ranks),
      slots_(sizeof(Frame) + limits.payload_max, spares_of_peer * ranks) {
    for (std::size_t r = 0; r < ranks; ++r) {
        peers_[r].rank = static_cast<Rank>(r);
        peers_[r].next_sent = peers_[r].next_taken = limits.first_sequence;
        peers_[r].credit = Credit(Credit::max_among(ranks));
        peers_[r].waiting.reserve(queued_min);
    }
}

// Throws if there is no memory for it.
template <class Self, class Peer>
auto MessageTransport<Self, Peer>::take_post(Peer&, std::uint64_t stream, const std::byte* data,
                                             std::uint64_t bytes, Token token) -> Post* {
    Post* post = posts_.take(stream);
    *post = {};
    post->stream = stream;
    post->data = const_cast<std::byte*>(data);
    post->bytes = bytes;
    post->token = token;
    return post;
}

// A post to a peer that is lost. (Those before it on its lane may still move.)
template <class Self, class Peer>
Posted MessageTransport<Self, Peer>::refuse(Peer& peer, LaneQueue& lane, Token token) {
    Post* post = self().take_post(peer, lane.stream, nullptr, 0, token);
    lane.posts.append(post);
    finish(peer, lane, *post, {.code = peer.loss});
    return Posted::pending;
}

// The peer is lost. Posts that move end when the library gives their buffers back.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::break_posts(Peer& peer) {
    ++losses_;
    peer.waiting.clear();
    peer.awaiting_cts.clear();
    peer.cleared.clear();
    peer.awaiting_data.clear();
    note_owing(peer);
    const auto end_idle = [&](LaneQueue& lane) {
        lane.waiting = nullptr;
        for (Post* post = lane.posts.first; post != nullptr; post = post->next) {
            if (post->is_moving || post->is_over) continue;
            post->is_over = true;
            post->outcome = {.code = peer.loss};
        }
        const auto report = reporter(peer);
        while (!lane.posts.empty() && lane.posts.first->is_over) {
            Post* const first = lane.posts.take_first();
            report(first, first->outcome);
        }
    };
    peer.sends.for_each(end_idle);
    peer.receives.for_each(end_idle);
}

// Nothing of these posts is reported.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::forget_posts(Peer& peer, LaneQueue& lane) {
    lane.forget([&](Post* post) {
        if (!post->is_moving) return self().free_post(post);
        post->is_forgotten = true;
        ++peer.forgotten;
    });
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::cancel_context(std::uint64_t context) {
    contexts_.remove(context);
    reports_.forget(context);
    const auto is_of_context = [&](const Post* post) {
        return context_of(post->stream) == context;
    };
    for (Peer& peer : peers_) {
        peer.waiting.remove_if(is_of_context);
        peer.cleared.remove_if(is_of_context);
        std::erase_if(peer.awaiting_cts, is_of_context);
        std::erase_if(peer.awaiting_data, is_of_context);
        peer.sends.for_each([&](SendLane& lane) {
            if (context_of(lane.stream) != context) return;
            forget_posts(peer, lane);
            lane.early_cts = 0;
        });
        peer.receives.for_each([&](LaneQueue& lane) {
            if (context_of(lane.stream) == context) forget_posts(peer, lane);
        });
        note_owing(peer);
        drop_unwanted_messages(peer);
    }
    posts_.refill();
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::close_context(std::uint64_t context) {
    contexts_.remove(context);
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::buffer_unknown(bool keep) {
    contexts_.buffer_unknown(keep);
    if (keep) return;
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

template <class Self, class Peer>
std::size_t MessageTransport<Self, Peer>::held_bytes() const {
    std::size_t bytes = slots_.held_bytes() + posts_.held_bytes() + unexpected_.held_bytes();
    for (const Peer& peer : peers_)
        bytes += sizeof peer + peer.sends.held_bytes() + peer.receives.held_bytes();
    return bytes;
}

}  // namespace weft
