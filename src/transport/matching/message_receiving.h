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
    if (context_of(stream) != 0) (void)self().need(peer);
    LaneQueue& lane = peer.receives.find(stream);
    if (!lane.unexpected.empty()) return receive_unexpected(peer, lane, data, token);
    if (peer.lost) return refuse(peer, lane, token);
    Post* post = self().take_post(peer, stream, data.data(), data.size(), token);
    lane.append_waiting(post);
    grant(peer, *post);
    return Posted::pending;
}

template <class Self, class Peer>
NextMessage MessageTransport<Self, Peer>::next_on(const Lane& lane) {
    Peer& peer = peer_of(lane.peer);
    const LaneQueue* queue = peer.receives.find_existing(lane.stream.packed());
    if (queue != nullptr && !queue->unexpected.empty()) return NextMessage::here;
    return peer.lost ? NextMessage::gone : NextMessage::none;
}

// No message has met the receive: a large one may come without an RTS. (Failure notices always do.)
template <class Self, class Peer>
void MessageTransport<Self, Peer>::grant(Peer& peer, const Post& post) {
    const bool is_large = post.bytes >= limits_.eager_threshold;
    if (is_large && context_of(post.stream) != 0 && has_slot(peer, 0))
        self().send_frame(peer, {.kind = FrameKind::grant, .stream = post.stream}, {});
}

// The lane's next message, or its RTS, is here.
template <class Self, class Peer>
Posted MessageTransport<Self, Peer>::receive_unexpected(Peer& peer, LaneQueue& lane, MutBytes data,
                                                        Token token) {
    Unexpected* message = lane.unexpected.first;
    const bool fits = message->bytes == data.size();
    const bool is_here = !message->is_rts && message->descriptor == nullptr;
    const bool is_done = is_here && fits && lane.posts.empty() && !reports_.has_kept();
    if (message->is_rts) reserve_begin(peer);
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
        begin(peer, lane, *post, message->bytes, message->ticket);
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
void MessageTransport<Self, Peer>::reserve_announced(Peer& peer) {
    if (peer.announced.size() == peer.announced.capacity())
        peer.announced.reserve(2 * peer.announced.size() + 4);
}

// The next begin() does not throw.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::reserve_begin(Peer& peer) {
    reserve_announced(peer);
    if (!peer.lost && !reserve_slot(/*is_large=*/false, /*is_spare=*/true)) throw std::bad_alloc();
}

// An RTS has matched its receive.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::begin(Peer& peer, LaneQueue& lane, Post& post,
                                         std::uint64_t bytes, std::uint64_t ticket) {
    reserve_begin(peer);
    if (peer.lost) {
        finish(peer, lane, post, {.code = peer.loss});
    } else if (bytes != post.bytes) {
        finish(peer, lane, post, Outcome::mismatch(bytes, post.bytes));
        drop(peer, ticket);
    } else {
        post.ticket = ticket;
        peer.announced.push_back(&post);
        self().send_frame(peer, {.kind = FrameKind::cts, .stream = post.stream, .ticket = ticket},
                          {});
    }
}

// Its sender must not wait forever: without memory to say so, the two ranks lose each other.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::drop(Peer& peer, std::uint64_t ticket) {
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
    const bool is_notice = context_of(frame.stream) == 0;
    LaneQueue* lane = receiving_lane(peer, frame.stream, is_wanted);
    const std::uint64_t credit = is_notice ? 0 : Credit::cost_of(arrival.bytes);
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
        if (is_notice) return false;
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
            begin(peer, *lane, *post, frame.bytes, frame.ticket);
        } catch (const std::bad_alloc&) {
            lose_message(peer, frame.stream);
        }
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? unexpected_.announce(frame.bytes) : nullptr;
        if (message == nullptr) return lose_message(peer, frame.stream);
        message->ticket = frame.ticket;
        message->is_rts = true;
        lane->unexpected.append(message);
    } else {
        drop(peer, frame.ticket);  // its sender must not wait forever
    }
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::pay_credit(Peer& peer, std::uint64_t credit) {
    const std::uint64_t due = peer.credit.give_back(credit);
    if (due == 0 || peer.lost) return;
    if (has_slot(peer, 0, /*is_spare=*/true))
        self().send_frame(peer, {.kind = FrameKind::credit, .bytes = due}, {});
    else
        peer.credit.take_back(due);
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
    peer.receives.for_each([&](LaneQueue& lane) {
        if (contexts_.wants(context_of(lane.stream))) return;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            if (message->is_rts && !peer.lost) drop(peer, message->ticket);
            release(peer, message);
        }
    });
}

}  // namespace weft
