// Receiving: from the MPI's messages into the user's buffers.
#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "transport/matching/message_functions.h"
#include "transport/mpi/mpi.h"

namespace weft {

// Sending: from the user's buffers into slots, and from those by the MPI.

template class MessageTransport<MpiTransport, mpi::Peer>;

// With a request.
bool MpiTransport::has_room_to_send() {
    if (sending_.size() < sending_.capacity()) return true;
    try {
        const std::size_t room = 2 * sending_.size() + 8;
        send_requests_.reserve(room * mpi_.request_bytes);
        indices_.reserve(std::max(room, receives_));
        sending_.reserve(room);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool MpiTransport::send_frame(Peer& peer, Frame frame, Bytes payload) {
    if (peer.lost) return false;
    Slot* const slot = fill_slot(peer, frame, payload);
    const std::size_t index = sending_.size();
    sending_.push_back(slot);
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
    note_in_flight(*slot);
    if (mpi_.send(channel_, slot->bytes.get(), static_cast<int>(sizeof frame + payload.size()),
                  peer.rank, request(send_requests_, index)) == 0)
        return true;
    sending_.pop_back();
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
    take_back(slot);
    lose(peer, WEFT_BROKEN_TRANSPORT);
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
        take_back(sending_[index]);
        if (index + 1 < sending_.size()) {
            sending_[index] = sending_.back();
            std::memcpy(request(send_requests_, index),
                        request(send_requests_, sending_.size() - 1), mpi_.request_bytes);
        }
        sending_.pop_back();
    }
    send_requests_.resize(sending_.size() * mpi_.request_bytes);
}

bool MpiTransport::has_room_to_move(const Peer& peer, const Post& post) {
    return has_slot(peer, std::min<std::uint64_t>(post.bytes - post.moved, mpi::payload_max));
}

// A part; the next one has its turn after those of other messages.
bool MpiTransport::move(Peer& peer, Post& post, FrameKind kind) {
    const std::uint64_t bytes = std::min<std::uint64_t>(post.bytes - post.moved, mpi::payload_max);
    if (kind == FrameKind::early_data) post.ticket = ++peer.tickets;
    const Frame frame{
        .kind = kind, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket};
    if (!send_frame(peer, frame, {post.data + post.moved, bytes})) return false;
    post.moved += bytes;
    ++parts_moved_;
    if (post.moved < post.bytes)
        peer.cleared.push_front(&post);
    else
        finish(peer, peer.sends.find(post.stream), post);
    return true;
}

void MpiTransport::post_receive(std::size_t index) {
    const int error =
        mpi_.receive(channel_, receive_bytes_.data() + index * large_bytes,
                     static_cast<int>(large_bytes), request(receive_requests_, index));
    is_idle_[index] = error == WEFT_MPI_NOTHING;
    idle_ += is_idle_[index];
    if (error != 0 && !is_idle_[index]) fail_all();
}

// As many as have something to receive.
void MpiTransport::post_idle() {
    for (std::size_t i = 0; i < receives_ && idle_ > 0; ++i) {
        if (!is_idle_[i]) continue;
        --idle_;
        post_receive(i);
        if (is_idle_[i]) return;
    }
}

// The MPI may report the messages of one sender in another order than they were sent in.
void MpiTransport::take_arrived() {
    post_idle();
    indices_.resize(std::max(sending_.size(), receives_));
    int ended = 0;
    if (idle_ < receives_ && mpi_.test_some(channel_, static_cast<int>(receives_),
                                            receive_requests_.data(), &ended, indices_.data()) != 0)
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
        case FrameKind::eager: {
            FrameContent arrival{.data = payload.data(), .bytes = payload.size()};
            return take_eager(peer, frame, arrival);
        }
        case FrameKind::rts: take_rts(peer, frame); return true;
        case FrameKind::cts: take_cts(peer, frame.ticket); return true;
        case FrameKind::drop: take_drop(peer, frame.ticket); return true;
        case FrameKind::data: take_part(peer, frame, payload); return true;
        case FrameKind::early_cts: take_early_cts(peer, frame); return true;
        case FrameKind::early_data: take_early_data(peer, frame, payload); return true;
        case FrameKind::credit: peer.credit.regain(frame.bytes); return true;
        default: lose(peer, WEFT_BROKEN_TRANSPORT); return true;
    }
}

// The first part of a message that had an early CTS. Its receive is posted, unless that was for
// another one.
void MpiTransport::take_early_data(Peer& peer, const Frame& frame, Bytes payload) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    LaneQueue* lane = receiving_lane(peer, frame.stream, is_wanted);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        if (post->bytes != frame.bytes)
            return finish(peer, *lane, *post, Outcome::mismatch(frame.bytes, post->bytes));
        try {
            reserve_awaiting_data(peer);
        } catch (const std::bad_alloc&) {
            return lose_message(peer, frame.stream);
        }
        post->ticket = frame.ticket;
        peer.awaiting_data.push_back(post);
        receive_part(peer, *post, payload);
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? unexpected_.take(frame.bytes) : nullptr;
        if (message == nullptr) return lose_message(peer, frame.stream);
        message->ticket = frame.ticket;
        lane->unexpected.append(message);
        keep_part(peer, *message, payload);
    }
}

// The next part of a message.
void MpiTransport::take_part(Peer& peer, const Frame& frame, Bytes payload) {
    const auto place = std::ranges::find(peer.awaiting_data, frame.ticket, &Post::ticket);
    if (place != peer.awaiting_data.end()) return receive_part(peer, **place, payload);
    LaneQueue* lane = peer.receives.find_existing(frame.stream);
    if (lane == nullptr || !contexts_.wants(context_of(frame.stream))) return;  // cancelled
    for (Unexpected* message = lane->unexpected.first; message != nullptr;
         message = message->next) {
        if (message->ticket != frame.ticket) continue;
        // (After an RTS, because of an early CTS for another message.)
        if (message->is_rts && !unexpected_.make_room(*message))
            return lose_message(peer, frame.stream);
        message->is_rts = false;
        return keep_part(peer, *message, payload);
    }
}

// REQUIRES: the post is in peer.awaiting_data.
void MpiTransport::receive_part(Peer& peer, Post& post, Bytes payload) {
    if (payload.size() > post.bytes - post.moved) return lose(peer, WEFT_BROKEN_TRANSPORT);
    if (!payload.empty()) std::memcpy(post.data + post.moved, payload.data(), payload.size());
    post.moved += payload.size();
    ++parts_moved_;
    if (post.moved < post.bytes) return;
    std::erase(peer.awaiting_data, &post);
    finish(peer, peer.receives.find(post.stream), post);
}

// The message waits for its receive; its descriptor says that parts are missing.
void MpiTransport::keep_part(Peer& peer, Unexpected& message, Bytes payload) {
    if (payload.size() > message.bytes - message.moved) return lose(peer, WEFT_BROKEN_TRANSPORT);
    if (!payload.empty()) std::memcpy(message.data + message.moved, payload.data(), payload.size());
    message.moved += payload.size();
    ++parts_moved_;
    message.descriptor = message.moved < message.bytes ? &message : nullptr;
}

void MpiTransport::receive_into(Peer& peer, LaneQueue& lane, Post& post, FrameContent& arrival) {
    if (arrival.descriptor == nullptr)
        return MessageTransport::receive_into(peer, lane, post, arrival);
    const Unexpected& message = *static_cast<const Unexpected*>(arrival.descriptor);
    try {
        reserve_awaiting_data(peer);
    } catch (const std::bad_alloc&) {
        return lose_message(peer, lane.stream);
    }
    post.ticket = message.ticket;
    peer.awaiting_data.push_back(&post);
    receive_part(peer, post, {message.data, message.moved});
}

}  // namespace weft
