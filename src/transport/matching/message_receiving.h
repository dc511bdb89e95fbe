// Functions of MessageTransport: receiving, unexpected messages.
#pragma once

#include <cstring>
#include <new>

#include "transport/matching/message_transport.h"

namespace weft {

template <class Self, class Peer>
Posted MessageTransport<Self, Peer>::post_recv(const Lane& from, MutBytes data, Token token) {
    Peer& peer = peer_of(from.peer);
    const std::uint64_t stream = from.stream.packed();
    // Receives of failure notices are posted for every rank.
    if (!is_notice(stream)) (void)self().need(peer);
    LaneQueue& lane = peer.receives.find(stream);
    if (!lane.unexpected.empty()) return receive_unexpected(peer, lane, data, token);
    if (peer.lost) return refuse(peer, lane, token);
    Post* post = self().take_post(peer, stream, data.data(), data.size(), token);
    lane.append_waiting(post);
    send_early_cts(peer, *post);
    return Posted::pending;
}

template <class Self, class Peer>
NextMessage MessageTransport<Self, Peer>::next_on(const Lane& lane) {
    Peer& peer = peer_of(lane.peer);
    const LaneQueue* queue = peer.receives.find_existing(lane.stream.packed());
    if (queue != nullptr && !queue->unexpected.empty()) return NextMessage::here;
    return peer.lost ? NextMessage::gone : NextMessage::none;
}

// No message has met the receive: a large one may come without an RTS.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::send_early_cts(Peer& peer, const Post& post) {
    const bool is_large = post.bytes >= limits_.eager_threshold;
    if (is_large && !is_notice(post.stream) && has_slot(peer, 0))
        self().send_frame(peer, {.kind = FrameKind::early_cts, .stream = post.stream}, {});
}

// The lane's next message, or its RTS, is here.
template <class Self, class Peer>
Posted MessageTransport<Self, Peer>::receive_unexpected(Peer& peer, LaneQueue& lane, MutBytes data,
                                                        Token token) {
    Unexpected* message = lane.unexpected.first;
    const bool fits = message->bytes == data.size();
    const bool is_here = !message->is_rts && message->descriptor == nullptr;
    const bool is_done = is_here && fits && lane.posts.empty() && !reports_.has_kept();
    if (message->is_rts) reserve_answer(peer);
    Post* post =
        is_done ? nullptr : self().take_post(peer, lane.stream, data.data(), data.size(), token);
    // From here on nothing throws.
    lane.unexpected.take_first();
    if (is_done) {
        if (!data.empty()) std::memcpy(data.data(), message->data, data.size());
        release(peer, message);
        return Posted::done;
    }
    lane.posts.append(post);
    if (message->is_rts) {
        answer_rts(peer, lane, *post, message->bytes, message->ticket);
    } else if (!fits) {
        finish(peer, lane, *post, Outcome::mismatch(message->bytes, data.size()));
    } else if (peer.lost && !is_here) {
        finish(peer, lane, *post, {.code = peer.loss});
    } else {
        FrameContent arrival{message->data, message->bytes, message->descriptor};
        self().receive_into(peer, lane, *post, arrival);
    }
    release(peer, message);
    return Posted::pending;
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::receive_into(Peer& peer, LaneQueue& lane, Post& post,
                                                FrameContent& arrival) {
    if (post.bytes > 0) std::memcpy(post.data, arrival.data, post.bytes);
    finish(peer, lane, post);
}

// There is room for one more.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::reserve_awaiting_data(Peer& peer) {
    if (peer.awaiting_data.size() == peer.awaiting_data.capacity())
        peer.awaiting_data.reserve(2 * peer.awaiting_data.size() + 4);
}

// The next answer_rts() does not throw.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::reserve_answer(Peer& peer) {
    reserve_awaiting_data(peer);
    if (!peer.lost && !reserve_slot(/*is_large=*/false, /*is_spare=*/true)) throw std::bad_alloc();
}

// An RTS has met its receive.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::answer_rts(Peer& peer, LaneQueue& lane, Post& post,
                                              std::uint64_t bytes, std::uint64_t ticket) {
    reserve_answer(peer);
    if (peer.lost) {
        finish(peer, lane, post, {.code = peer.loss});
    } else if (bytes != post.bytes) {
        finish(peer, lane, post, Outcome::mismatch(bytes, post.bytes));
        send_drop(peer, ticket);
    } else {
        post.ticket = ticket;
        peer.awaiting_data.push_back(&post);
        self().send_frame(peer, {.kind = FrameKind::cts, .stream = post.stream, .ticket = ticket},
                          {});
    }
}

// Its sender must not wait forever: without memory to say so, the two ranks lose each other.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::send_drop(Peer& peer, std::uint64_t ticket) {
    if (has_slot(peer, 0, /*is_spare=*/true))
        self().send_frame(peer, {.kind = FrameKind::drop, .ticket = ticket}, {});
    else
        self().lose(peer, WEFT_BROKEN_MEMORY);
}

// Of a message of a closed context: only one that exists already. Null: none, or out of memory.
template <class Self, class Peer>
auto MessageTransport<Self, Peer>::receiving_lane(Peer& peer, std::uint64_t stream, bool is_wanted)
    -> LaneQueue* {
    return is_wanted ? peer.receives.try_find(stream) : peer.receives.find_existing(stream);
}

// False: it is a failure notice, and there is no memory to keep it until its receive is posted.
template <class Self, class Peer>
bool MessageTransport<Self, Peer>::take_eager(Peer& peer, const Frame& frame,
                                              FrameContent& arrival) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    LaneQueue* lane = receiving_lane(peer, frame.stream, is_wanted);
    const std::uint64_t credit = is_notice(frame.stream) ? 0 : Credit::cost_of(arrival.bytes);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        const bool fits = post->bytes == arrival.bytes;
        if (fits && arrival.bytes > 0) std::memcpy(post->data, arrival.data, arrival.bytes);
        finish(peer, *lane, *post,
               fits ? Outcome{} : Outcome::mismatch(arrival.bytes, post->bytes));
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? unexpected_.take(arrival.bytes) : nullptr;
        if (message != nullptr) {
            message->credit = credit;
            if (arrival.bytes > 0) std::memcpy(message->data, arrival.data, arrival.bytes);
            lane->unexpected.append(message);
            return true;
        }
        if (is_notice(frame.stream)) return false;
        lose_message(peer, frame.stream);
    }
    pay_credit(peer, credit);
    return true;
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::take_rts(Peer& peer, const Frame& frame) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    LaneQueue* lane = receiving_lane(peer, frame.stream, is_wanted);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        try {
            answer_rts(peer, *lane, *post, frame.bytes, frame.ticket);
        } catch (const std::bad_alloc&) {
            lose_message(peer, frame.stream);
        }
    } else if (is_wanted) {
        Unexpected* message =
            lane != nullptr ? unexpected_.take_without_room(frame.bytes) : nullptr;
        if (message == nullptr) return lose_message(peer, frame.stream);
        message->ticket = frame.ticket;
        message->is_rts = true;
        lane->unexpected.append(message);
    } else {
        send_drop(peer, frame.ticket);  // its sender must not wait forever
    }
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::pay_credit(Peer& peer, std::uint64_t credit) {
    peer.credit.give_back(credit, [&](std::uint64_t due) {
        if (peer.lost) return true;
        if (!has_slot(peer, 0, /*is_spare=*/true)) return false;
        self().send_frame(peer, {.kind = FrameKind::credit, .bytes = due}, {});
        return true;
    });
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::release(Peer& peer, Unexpected* message) {
    if (message->descriptor != nullptr) self().release_descriptor(message->descriptor);
    const std::uint64_t credit = message->credit;
    unexpected_.release(message);
    pay_credit(peer, credit);
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::drop_unwanted_messages(Peer& peer) {
    drop_unwanted(peer.receives, contexts_, [&](LaneQueue&, Unexpected* message) {
        if (message->is_rts && !peer.lost) send_drop(peer, message->ticket);
        release(peer, message);
    });
}

}  // namespace weft
