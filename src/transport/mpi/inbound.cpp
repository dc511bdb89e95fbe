// Receiving: from the MPI's messages into the user's buffers; unexpected messages.
#include <algorithm>
#include <cstring>
#include <new>

#include "transport/mpi/mpi.h"

namespace weft {

using mpi::Frame;
using mpi::FrameKind;
using mpi::Post;
using mpi::Unexpected;

Posted MpiTransport::post_recv(const Lane& from, MutBytes data, Token token) {
    Peer& peer = peer_of(from.peer);
    mpi::LaneQueue& lane = peer.receives.find(from.stream.packed());
    if (!lane.unexpected.empty()) return receive_unexpected(peer, lane, data, token);
    if (peer.lost) return refuse(peer, lane.stream, token);
    Post* post = posts_.take(lane.stream);
    *post = {.stream = lane.stream, .data = data.data(), .bytes = data.size(), .token = token};
    lane.append_waiting(post);
    return Posted::pending;
}

// The lane's next message, or its RTS, is here.
Posted MpiTransport::receive_unexpected(Peer& peer, mpi::LaneQueue& lane, MutBytes data,
                                        Token token) {
    Unexpected* message = lane.unexpected.first;
    const bool is_here = !message->is_rts && message->bytes == data.size();
    const bool is_done = is_here && lane.posts.empty() && !reports_.has_kept();
    if (message->is_rts) reserve_begin(peer);
    Post* post = is_done ? nullptr : posts_.take(lane.stream);
    // From here on nothing throws.
    lane.unexpected.take_first();
    if (is_here && !data.empty()) std::memcpy(data.data(), message->data, data.size());
    if (is_done) {
        release(peer, message);
        return Posted::done;
    }
    *post = {.stream = lane.stream, .data = data.data(), .bytes = data.size(), .token = token};
    lane.posts.append(post);
    if (message->is_rts) {
        begin(peer, lane, *post, message->bytes, message->ticket);
    } else {
        finish(peer, lane, *post,
               is_here ? Outcome{} : Outcome::mismatch(message->bytes, data.size()));
    }
    release(peer, message);
    return Posted::pending;
}

// The next begin() does not throw.
void MpiTransport::reserve_begin(Peer& peer) {
    if (peer.incoming.size() == peer.incoming.capacity())
        peer.incoming.reserve(2 * peer.incoming.size() + 4);
    if (!peer.lost && !reserve_slot(/*is_large=*/false, /*is_spare=*/true)) throw std::bad_alloc();
}

// An RTS has matched its receive.
void MpiTransport::begin(Peer& peer, mpi::LaneQueue& lane, Post& post, std::uint64_t bytes,
                         std::uint64_t ticket) {
    reserve_begin(peer);
    if (peer.lost) {
        finish(peer, lane, post, {.code = peer.loss});
    } else if (bytes != post.bytes) {
        finish(peer, lane, post, Outcome::mismatch(bytes, post.bytes));
        drop(peer, ticket);
    } else {
        post.ticket = ++peer.tickets;
        peer.incoming.push_back(&post);
        send_frame(peer, {.kind = FrameKind::cts, .ticket = ticket, .place = post.ticket}, {});
    }
}

// Its sender must not wait forever: without memory to say so, the two ranks lose each other.
void MpiTransport::drop(Peer& peer, std::uint64_t ticket) {
    if (has_slot(peer, 0, /*is_spare=*/true)) {
        send_frame(peer, {.kind = FrameKind::drop, .ticket = ticket}, {});
    } else {
        peer.loss = WEFT_BROKEN_MEMORY;
        lose(peer);
    }
}

void MpiTransport::post_receive(std::size_t index) {
    if (mpi_.receive(channel_, receive_bytes_.data() + index * large_bytes,
                     static_cast<int>(large_bytes), request(receive_requests_, index)) != 0)
        fail_all();
}

// The MPI may report the messages of one sender in another order than they were sent in.
void MpiTransport::take_arrived() {
    indices_.resize(std::max(sending_.size(), receives_));
    int ended = 0;
    if (mpi_.test_some(channel_, static_cast<int>(receives_), receive_requests_.data(), &ended,
                       indices_.data()) != 0)
        return fail_all();
    if (ended == 0 && !is_notice_left_) return;
    is_notice_left_ = false;
    for (int i = 0; i < ended; ++i) {
        arrived_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])] = true;
    }
    for (bool is_moving = true; is_moving;) {
        is_moving = false;
        for (std::size_t i = 0; i < receives_; ++i) {
            if (!arrived_[i]) continue;
            const std::byte* bytes = receive_bytes_.data() + i * large_bytes;
            Frame frame;
            std::memcpy(&frame, bytes, sizeof frame);
            if (!is_good(frame)) return fail_all();
            Peer& peer = peer_of(frame.from);
            if (frame.sequence != peer.next_taken) continue;
            if (!peer.lost && !take_frame(frame, {bytes + sizeof frame, frame.payload})) {
                is_notice_left_ = true;
                continue;
            }
            ++peer.next_taken;
            arrived_[i] = false;
            is_moving = true;
            post_receive(i);
        }
    }
}

bool MpiTransport::is_good(const Frame& frame) const {
    return frame.from >= 0 && static_cast<std::size_t>(frame.from) < peers_.size() &&
           frame.from != rank_ && frame.payload <= mpi::payload_max;
}

// False: it must stay until its receive is posted, because there is no memory to keep it.
bool MpiTransport::take_frame(const Frame& frame, Bytes payload) {
    Peer& peer = peer_of(frame.from);
    switch (frame.kind) {
        case FrameKind::eager: return take_eager(peer, frame, payload);
        case FrameKind::rts: take_rts(peer, frame); return true;
        case FrameKind::cts: take_cts(peer, frame); return true;
        case FrameKind::drop: take_drop(peer, frame); return true;
        case FrameKind::part: take_part(peer, frame, payload); return true;
        case FrameKind::credit: peer.credit.regain(frame.bytes); return true;
    }
    lose(peer);
    return true;
}

bool MpiTransport::take_eager(Peer& peer, const Frame& frame, Bytes payload) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    mpi::LaneQueue* lane = is_wanted ? peer.receives.try_find(frame.stream)
                                     : peer.receives.find_existing(frame.stream);
    const std::uint64_t credit =
        context_of(frame.stream) == 0 ? 0 : Credit::cost_of(payload.size());
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        const bool fits = post->bytes == payload.size();
        if (fits && !payload.empty()) std::memcpy(post->data, payload.data(), payload.size());
        finish(peer, *lane, *post,
               fits ? Outcome{} : Outcome::mismatch(payload.size(), post->bytes));
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? unexpected_.take(payload.size()) : nullptr;
        if (message != nullptr) {
            message->credit = credit;
            if (!payload.empty()) std::memcpy(message->data, payload.data(), payload.size());
            lane->unexpected.append(message);
            return true;
        }
        if (context_of(frame.stream) == 0) return false;
        lose_message(peer, frame.stream);
    }
    pay_credit(peer, credit);
    return true;
}

void MpiTransport::take_rts(Peer& peer, const Frame& frame) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    mpi::LaneQueue* lane = is_wanted ? peer.receives.try_find(frame.stream)
                                     : peer.receives.find_existing(frame.stream);
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

void MpiTransport::take_part(Peer& peer, const Frame& frame, Bytes payload) {
    const auto place = std::ranges::find(peer.incoming, frame.place, &Post::ticket);
    if (place == peer.incoming.end()) return;  // abandoned
    Post& post = **place;
    if (payload.size() > post.bytes - post.moved) return lose(peer);
    if (!payload.empty()) std::memcpy(post.data + post.moved, payload.data(), payload.size());
    post.moved += payload.size();
    ++pieces_moved_;
    if (post.moved < post.bytes) return;
    peer.incoming.erase(place);
    finish(peer, peer.receives.find(post.stream), post);
}

void MpiTransport::pay_credit(Peer& peer, std::uint64_t credit) {
    const std::uint64_t due = peer.credit.give_back(credit);
    if (due == 0 || peer.lost) return;
    if (has_slot(peer, 0, /*is_spare=*/true))
        send_frame(peer, {.kind = FrameKind::credit, .bytes = due}, {});
    else
        peer.credit.take_back(due);
}

void MpiTransport::release(Peer& peer, Unexpected* message) {
    const std::uint64_t credit = message->credit;
    unexpected_.release(message);
    pay_credit(peer, credit);
}

void MpiTransport::abandon_receives(Peer& peer, std::uint64_t context) {
    std::erase_if(peer.incoming,
                  [&](const Post* post) { return context_of(post->stream) == context; });
    peer.receives.for_each([&](mpi::LaneQueue& lane) {
        if (context_of(lane.stream) != context) return;
        lane.forget([&](Post* post) { posts_.give_back(post); });
    });
    drop_unwanted_messages(peer);
}

void MpiTransport::drop_unwanted_messages(Peer& peer) {
    peer.receives.for_each([&](mpi::LaneQueue& lane) {
        if (contexts_.wants(context_of(lane.stream))) return;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            if (message->is_rts && !peer.lost) drop(peer, message->ticket);
            release(peer, message);
        }
    });
}

}  // namespace weft
