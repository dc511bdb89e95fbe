// Sending: from the user's buffers into slots, and from those by the MPI.
#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "transport/matching/message_functions.h"
#include "transport/mpi/mpi.h"

namespace weft {

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
    if (kind == FrameKind::direct) post.ticket = ++peer.tickets;
    const Frame frame{
        .kind = kind, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket};
    if (!send_frame(peer, frame, {post.data + post.moved, bytes})) return false;
    post.moved += bytes;
    ++pieces_moved_;
    if (post.moved < post.bytes)
        peer.granted.push_front(&post);
    else
        finish(peer, peer.sends.find(post.stream), post);
    return true;
}

}  // namespace weft
