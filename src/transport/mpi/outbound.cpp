// Sending: from the user's buffers into slots, and from those by the MPI.
#include <algorithm>
#include <cstring>
#include <new>

#include "transport/matching/tickets.h"
#include "transport/mpi/mpi.h"

namespace weft {

using mpi::Frame;
using mpi::FrameKind;
using mpi::Post;

Posted MpiTransport::post_send(const Lane& to, Bytes data, Token token) {
    Peer& peer = peer_of(to.peer);
    if (peer.lost) return refuse(peer, to.stream.packed(), token);
    Post post{.stream = to.stream.packed(),
              .data = const_cast<std::byte*>(data.data()),
              .bytes = data.size(),
              .token = token};
    // Nothing is before it: it is sent when this returns.
    if (!reports_.has_kept() && peer.waiting.empty() && may_send_eagerly(peer, post) &&
        has_slot(peer, data.size(), context_of(post.stream) == 0)) {
        mpi::LaneQueue* lane = peer.sends.find_existing(post.stream);
        if (lane == nullptr || lane->posts.empty()) {
            if (say(peer, post)) return Posted::done;
            return refuse(peer, to.stream.packed(), token);
        }
    }
    mpi::LaneQueue& lane = peer.sends.find(post.stream);
    const std::size_t sends = peer.waiting.size() + peer.awaiting_cts.size() + peer.granted.size();
    peer.waiting.reserve(peer.waiting.size() + 1);
    peer.granted.reserve(sends + 1);
    Post* kept = posts_.take(post.stream);
    *kept = post;
    lane.posts.append(kept);
    const bool owed = peer.owes();
    peer.waiting.push(kept);
    note_owing(peer, owed);
    go_on(peer);
    return Posted::pending;
}

bool MpiTransport::may_send_eagerly(const Peer& peer, const Post& post) const {
    // Failure notices are eager: their receives are posted.
    if (context_of(post.stream) == 0) return post.bytes <= mpi::payload_max;
    return post.bytes < settings_.eager_threshold && peer.credit.covers(post.bytes);
}

// There are as many small slots as needed, if there is memory: credit bounds them. `is_spare`: it may
// be one of the spare ones.
bool MpiTransport::has_slot(const Peer& peer, std::size_t payload, bool is_spare) {
    const bool is_large = sizeof(Frame) + payload > small_bytes;
    return (!is_large || peer.large_slots < large_slots_max) && reserve_slot(is_large, is_spare);
}

// False: out of memory.
bool MpiTransport::reserve_slot(bool is_large, bool is_spare) {
    std::vector<Slot>& free = is_large ? free_large_ : free_small_;
    const std::size_t spares = is_large || is_spare ? 0 : spares_of_peer * peers_.size();
    const bool has_room = sending_.size() < sending_.capacity();
    if (has_room && free.size() > spares) return true;
    try {
        if (!has_room) {
            const std::size_t room = 2 * sending_.size() + 8;
            send_requests_.reserve(room * mpi_.request_bytes);
            indices_.reserve(std::max(room, receives_));
            sending_.reserve(room);
        }
        if (free.size() > spares) return true;
        // So that giving a slot back takes no memory.
        if (free.capacity() <= slots_) free.reserve(2 * slots_ + 8);
        free.push_back(
            {std::make_unique<std::byte[]>(is_large ? large_bytes : small_bytes), is_large});
        ++slots_;
        return true;
    } catch (const std::bad_alloc&) {
        return is_spare && has_room && !free.empty();
    }
}

// What an RTS takes. False: out of memory.
bool MpiTransport::reserve_rts(Peer& peer) {
    try {
        if (peer.awaiting_cts.size() == peer.awaiting_cts.capacity())
            peer.awaiting_cts.reserve(2 * peer.awaiting_cts.size() + 4);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return has_slot(peer, 0);
}

// REQUIRES: has_slot(). False: the peer is lost.
bool MpiTransport::send_frame(Peer& peer, Frame frame, Bytes payload) {
    if (peer.lost) return false;
    const std::size_t bytes = sizeof frame + payload.size();
    WEFT_ASSERT(bytes <= large_bytes);
    const bool is_large = bytes > small_bytes;
    std::vector<Slot>& free = is_large ? free_large_ : free_small_;
    WEFT_ASSERT(!free.empty());
    Slot slot = std::move(free.back());
    free.pop_back();
    slot.peer = &peer;
    frame.from = rank_;
    frame.sequence = peer.next_sent++;
    frame.payload = static_cast<std::uint32_t>(payload.size());
    std::memcpy(slot.bytes.get(), &frame, sizeof frame);
    if (!payload.empty()) {
        std::memcpy(slot.bytes.get() + sizeof frame, payload.data(), payload.size());
    }
    const std::byte* data = slot.bytes.get();
    const std::size_t index = sending_.size();
    sending_.push_back(std::move(slot));
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
    peer.large_slots += is_large ? 1 : 0;
    ++peer.slots;
    if (mpi_.send(channel_, data, static_cast<int>(bytes), peer.rank,
                  request(send_requests_, index)) == 0)
        return true;
    sending_.pop_back();
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
    lose(peer);
    return false;
}

// Frees the slots of completed sends.
void MpiTransport::take_back_slots() {
    if (sending_.empty()) return;
    indices_.resize(std::max(sending_.size(), receives_));
    int ended = 0;
    if (mpi_.test_some(channel_, static_cast<int>(sending_.size()), send_requests_.data(), &ended,
                       indices_.data()) != 0)
        return fail_all();
    const std::span<int> all(indices_.data(), static_cast<std::size_t>(ended));
    // From the last, so that the one that takes its place has not completed.
    std::ranges::sort(all, std::greater<>());
    for (const int at : all) {
        const auto index = static_cast<std::size_t>(at);
        Slot slot = std::move(sending_[index]);
        slot.peer->large_slots -= slot.is_large ? 1 : 0;
        --slot.peer->slots;
        (slot.is_large ? free_large_ : free_small_).push_back(std::move(slot));
        if (index + 1 < sending_.size()) {
            sending_[index] = std::move(sending_.back());
            std::memcpy(request(send_requests_, index),
                        request(send_requests_, sending_.size() - 1), mpi_.request_bytes);
        }
        sending_.pop_back();
    }
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
}

// Sends the message, or its RTS. False: the peer is lost.
// REQUIRES: has_slot() if it is eager, else reserve_rts().
bool MpiTransport::say(Peer& peer, Post& post) {
    if (may_send_eagerly(peer, post)) {
        if (context_of(post.stream) != 0) peer.credit.spend(post.bytes);
        return send_frame(peer,
                          {.kind = FrameKind::eager, .stream = post.stream, .bytes = post.bytes},
                          {post.data, post.bytes});
    }
    post.ticket = ++peer.tickets;
    peer.awaiting_cts.push_back(&post);
    return send_frame(
        peer,
        {.kind = FrameKind::rts, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket},
        {});
}

// Sends what there are slots for.
void MpiTransport::go_on(Peer& peer) {
    const bool owed = peer.owes();
    while (!peer.waiting.empty()) {
        Post& post = *peer.waiting.front();
        const bool is_eager = may_send_eagerly(peer, post);
        const bool is_notice = context_of(post.stream) == 0;
        if (is_eager ? !has_slot(peer, post.bytes, is_notice) : !reserve_rts(peer)) break;
        if (!say(peer, post)) return;
        peer.waiting.pop();
        if (is_eager) finish(peer, peer.sends.find(post.stream), post);
    }
    while (!peer.granted.empty()) {
        Post& post = *peer.granted.front();
        const std::uint64_t bytes =
            std::min<std::uint64_t>(post.bytes - post.moved, mpi::payload_max);
        if (!has_slot(peer, bytes)) break;
        if (!send_frame(peer, {.kind = FrameKind::part, .place = post.place},
                        {post.data + post.moved, bytes}))
            return;
        post.moved += bytes;
        ++pieces_moved_;
        peer.granted.pop();
        if (post.moved < post.bytes)
            peer.granted.push(&post);
        else
            finish(peer, peer.sends.find(post.stream), post);
    }
    note_owing(peer, owed);
}

void MpiTransport::note_owing(Peer& peer, bool owed_before) {
    owing_ += static_cast<int>(peer.owes()) - static_cast<int>(owed_before);
}

void MpiTransport::take_cts(Peer& peer, const Frame& frame) {
    Post* post = take_with_ticket(peer.awaiting_cts, frame.ticket);
    if (post == nullptr) return;  // abandoned
    post->place = frame.place;
    const bool owed = peer.owes();
    peer.granted.push(post);
    note_owing(peer, owed);
    go_on(peer);
}

void MpiTransport::take_drop(Peer& peer, const Frame& frame) {
    Post* post = take_with_ticket(peer.awaiting_cts, frame.ticket);
    if (post != nullptr) finish(peer, peer.sends.find(post->stream), *post);
}

void MpiTransport::abandon_sends(Peer& peer, std::uint64_t context) {
    const bool owed = peer.owes();
    auto is_of_context = [&](const Post* post) { return context_of(post->stream) == context; };
    peer.waiting.remove_if(is_of_context);
    peer.granted.remove_if(is_of_context);
    std::erase_if(peer.awaiting_cts, is_of_context);
    peer.sends.for_each([&](mpi::LaneQueue& lane) {
        if (context_of(lane.stream) != context) return;
        lane.forget([&](Post* post) { posts_.give_back(post); });
    });
    note_owing(peer, owed);
}

}  // namespace weft
