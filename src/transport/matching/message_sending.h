// Functions of MessageTransport: sending.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "transport/matching/message_transport.h"
#include "transport/matching/post_store.h"

namespace weft {

template <class Self, class Peer>
Posted MessageTransport<Self, Peer>::post_send(const Lane& to, Bytes data, Token token) {
    Peer& peer = peer_of(to.peer);
    const std::uint64_t stream = to.stream.packed();
    if (!self().need(peer)) return refuse(peer, peer.sends.find(stream), token);
    // Nothing is before it: it is sent when this returns.
    if (!reports_.has_kept() && peer.waiting.empty()) {
        Post now{};
        now.stream = stream;
        now.data = const_cast<std::byte*>(data.data());
        now.bytes = data.size();
        const SendLane* lane = peer.sends.find_existing(stream);
        if ((lane == nullptr || lane->posts.empty()) && may_send_eagerly(peer, now) &&
            has_slot(peer, data.size(), is_notice(stream))) {
            if (!begin_send(peer, now)) return refuse(peer, peer.sends.find(stream), token);
            const bool is_done = self().is_sent() || !keep_sent(peer, now, token);
            return is_done ? Posted::done : Posted::pending;
        }
    }
    SendLane& lane = peer.sends.find(stream);
    const std::size_t sends = peer.waiting.size() + peer.awaiting_cts.size() + peer.cleared.size();
    peer.waiting.reserve(peer.waiting.size() + 1);
    peer.cleared.reserve(sends + 1);
    Post* kept = self().take_post(peer, stream, data.data(), data.size(), token);
    lane.posts.append(kept);
    peer.waiting.push(kept);
    note_owing(peer);
    go_on(peer);
    return Posted::pending;
}

// A post for a message in a frame that the library has not sent yet. False: out of memory; it
// counts as sent.
template <class Self, class Peer>
[[gnu::noinline]] bool MessageTransport<Self, Peer>::keep_sent(Peer& peer, const Post& sent,
                                                               Token token) {
    try {
        SendLane& lane = peer.sends.find(sent.stream);
        Post* const kept = self().take_post(peer, sent.stream, sent.data, sent.bytes, token);
        lane.posts.append(kept);
        self().finish_sent(peer, *kept);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

template <class Self, class Peer>
bool MessageTransport<Self, Peer>::may_send_eagerly(const Peer& peer, const Post& post) const {
    return post.bytes <= limits_.payload_max &&
           is_eager(post.stream, post.bytes, limits_.eager_threshold, peer.credit);
}

// There are as many small slots as needed, if there is memory: credit bounds them. `is_spare`: it
// may be one of the spare ones.
template <class Self, class Peer>
bool MessageTransport<Self, Peer>::has_slot(const Peer& peer, std::size_t payload, bool is_spare) {
    const bool is_large = slots_.is_large(sizeof(Frame) + payload);
    return (!is_large || peer.large_slots < limits_.large_slots_max) &&
           reserve_slot(is_large, is_spare);
}

// REQUIRES: has_slot().
template <class Self, class Peer>
auto MessageTransport<Self, Peer>::fill_slot(Peer& peer, Frame frame, Bytes payload) -> Slot* {
    WEFT_ASSERT(payload.size() <= limits_.payload_max);
    Slot* const slot = slots_.take(slots_.is_large(sizeof frame + payload.size()));
    slot->peer = &peer;
    frame.from = rank_;
    frame.sequence = peer.next_sent++;
    frame.payload = static_cast<std::uint32_t>(payload.size());
    std::memcpy(slot->bytes.get(), &frame, sizeof frame);
    if (!payload.empty())
        std::memcpy(slot->bytes.get() + sizeof frame, payload.data(), payload.size());
    return slot;
}

// The library has it.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::note_in_flight(const Slot& slot) {
    ++in_flight_;
    ++slot.peer->slots;
    slot.peer->large_slots += slot.is_large ? 1 : 0;
}

// The library is done with it.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::take_back(Slot* slot) {
    --in_flight_;
    --slot->peer->slots;
    slot->peer->large_slots -= slot->is_large ? 1 : 0;
    slot->post = nullptr;
    slots_.give_back(slot);
}

// The resources of an RTS. False: out of memory.
template <class Self, class Peer>
bool MessageTransport<Self, Peer>::reserve_rts(Peer& peer) {
    try {
        if (peer.awaiting_cts.size() == peer.awaiting_cts.capacity())
            peer.awaiting_cts.reserve(2 * peer.awaiting_cts.size() + 4);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return has_slot(peer, 0);
}

// Sends the message, or its RTS. False: the peer is lost.
// REQUIRES: has_slot() if it is eager, has_room_to_move() if it has an early CTS, else
// reserve_rts().
template <class Self, class Peer>
bool MessageTransport<Self, Peer>::begin_send(Peer& peer, Post& post) {
    if (may_send_eagerly(peer, post)) {
        if (!is_notice(post.stream)) peer.credit.spend(post.bytes);
        return self().send_frame(
            peer, {.kind = FrameKind::eager, .stream = post.stream, .bytes = post.bytes},
            {post.data, post.bytes});
    }
    SendLane& lane = peer.sends.find(post.stream);
    if (lane.early_cts > 0) {
        --lane.early_cts;
        return self().move(peer, post, FrameKind::early_data);
    }
    post.ticket = ++peer.tickets;
    peer.awaiting_cts.push_back(&post);
    return self().send_frame(
        peer,
        {.kind = FrameKind::rts, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket},
        {});
}

// Sends as much as there are slots for.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::go_on(Peer& peer) {
    while (true) {
        while (!peer.cleared.empty()) {
            Post& post = *peer.cleared.front();
            if (!self().has_room_to_move(peer, post)) break;
            peer.cleared.pop();
            if (!self().move(peer, post, FrameKind::data)) return note_owing(peer);
        }
        if (peer.waiting.empty()) break;
        Post& post = *peer.waiting.front();
        const bool is_eager = may_send_eagerly(peer, post);
        const bool has_early_cts = !is_eager && peer.sends.find(post.stream).early_cts > 0;
        if (is_eager        ? !has_slot(peer, post.bytes, is_notice(post.stream))
            : has_early_cts ? !self().has_room_to_move(peer, post)
                            : !reserve_rts(peer))
            break;
        peer.waiting.pop();
        if (!begin_send(peer, post)) return note_owing(peer);
        if (is_eager) self().finish_sent(peer, post);
    }
    note_owing(peer);
}

// After a change of the peer's queues.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::note_owing(Peer& peer) {
    owing_ += static_cast<int>(peer.owes()) - static_cast<int>(peer.is_counted);
    peer.is_counted = peer.owes();
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::take_cts(Peer& peer, std::uint64_t ticket) {
    Post* post = take_with_ticket(peer.awaiting_cts, ticket);
    if (post == nullptr) return;  // cancelled, or an early CTS has arrived before
    peer.cleared.push(post);
    note_owing(peer);
    go_on(peer);
}

template <class Self, class Peer>
void MessageTransport<Self, Peer>::take_drop(Peer& peer, std::uint64_t ticket) {
    Post* post = take_with_ticket(peer.awaiting_cts, ticket);
    if (post != nullptr) finish(peer, peer.sends.find(post->stream), *post);
}

// For the first message of the lane that waits for a CTS; if there is none, for the next large one.
template <class Self, class Peer>
void MessageTransport<Self, Peer>::take_early_cts(Peer& peer, const Frame& frame) {
    if (!contexts_.wants(context_of(frame.stream))) return;
    const auto first = std::ranges::find(peer.awaiting_cts, frame.stream, &Post::stream);
    if (first != peer.awaiting_cts.end()) return take_cts(peer, (*first)->ticket);
    if (SendLane* lane = peer.sends.try_find(frame.stream)) ++lane->early_cts;
}

}  // namespace weft
