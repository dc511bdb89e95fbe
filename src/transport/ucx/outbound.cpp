// Sending: small messages from slots, large ones from the user's buffers.
#include <algorithm>
#include <cstring>
#include <new>

#include "transport/matching/tickets.h"
#include "transport/ucx/ucx.h"

namespace weft {

using ucx::Frame;
using ucx::FrameKind;
using ucx::Post;

Posted UcxTransport::post_send(const Lane& to, Bytes data, Token token) {
    Peer& peer = peer_of(to.peer);
    const std::uint64_t stream = to.stream.packed();
    if (!peer.lost) (void)need(peer);
    if (peer.lost) return refuse(peer, peer.sends.find(stream), token);
    const Post post{.stream = stream,
                    .data = const_cast<std::byte*>(data.data()),
                    .bytes = data.size(),
                    .token = token,
                    .peer = &peer};
    // Nothing is before it: it is sent when this returns.
    if (!reports_.has_kept() && peer.waiting.empty() && may_send_eagerly(peer, post) &&
        has_slot(peer, data.size(), context_of(stream) == 0)) {
        const ucx::SendLane* lane = peer.sends.find_existing(stream);
        if (lane == nullptr || lane->posts.empty()) {
            Post now = post;
            if (say(peer, now)) return Posted::done;
            return refuse(peer, peer.sends.find(stream), token);
        }
    }
    ucx::SendLane& lane = peer.sends.find(stream);
    const std::size_t sends = peer.waiting.size() + peer.awaiting_cts.size() + peer.granted.size();
    peer.waiting.reserve(peer.waiting.size() + 1);
    peer.granted.reserve(sends + 1);
    Post* kept = take_post(peer, stream, data.data(), data.size(), token);
    lane.posts.append(kept);
    peer.waiting.push(kept);
    note_owing(peer);
    go_on(peer);
    return Posted::pending;
}

bool UcxTransport::may_send_eagerly(const Peer& peer, const Post& post) const {
    // Failure notices are eager: their receives are posted.
    if (context_of(post.stream) == 0) return sizeof(Frame) + post.bytes <= large_bytes_;
    return post.bytes < settings_.eager_threshold && peer.credit.covers(post.bytes);
}

// There are as many small slots as needed, if there is memory: credit bounds them. `is_spare`: it may
// be one of the spare ones.
bool UcxTransport::has_slot(const Peer& peer, std::size_t payload, bool is_spare) {
    const bool is_large = sizeof(Frame) + payload > small_bytes;
    return (!is_large || peer.large_slots < large_slots_max) && reserve_slot(is_large, is_spare);
}

// False: out of memory.
bool UcxTransport::reserve_slot(bool is_large, bool is_spare) {
    FreeSlots& free = is_large ? free_large_ : free_small_;
    const std::size_t spares = is_large ? 0 : spares_of_peer * peers_.size();
    if (free.count > spares) return true;
    try {
        slots_.reserve(slots_.size() + 1);
        auto slot = std::make_unique<Slot>();
        slot->bytes = std::make_unique<std::byte[]>(is_large ? large_bytes_ : small_bytes);
        slot->is_large = is_large;
        slots_.push_back(std::move(slot));
        slots_.back()->next = std::exchange(free.first, slots_.back().get());
        ++free.count;
        return true;
    } catch (const std::bad_alloc&) {
        return is_spare && free.count > 0;
    }
}

// REQUIRES: reserve_slot().
UcxTransport::Slot* UcxTransport::take_slot(bool is_large) {
    FreeSlots& free = is_large ? free_large_ : free_small_;
    WEFT_ASSERT(free.count > 0);
    --free.count;
    return std::exchange(free.first, free.first->next);
}

void UcxTransport::give_back(Slot* slot) {
    FreeSlots& free = slot->is_large ? free_large_ : free_small_;
    slot->next = std::exchange(free.first, slot);
    ++free.count;
}

// What an RTS takes. False: out of memory.
bool UcxTransport::reserve_rts(Peer& peer) {
    try {
        if (peer.awaiting_cts.size() == peer.awaiting_cts.capacity())
            peer.awaiting_cts.reserve(2 * peer.awaiting_cts.size() + 4);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return has_slot(peer, 0);
}

// REQUIRES: has_slot(). False: the peer is lost.
bool UcxTransport::send_frame(Peer& peer, Frame frame, Bytes payload) {
    if (!need(peer)) return false;
    const bool is_large = sizeof frame + payload.size() > small_bytes;
    Slot* const slot = take_slot(is_large);
    frame.from = rank_;
    frame.sequence = peer.next_sent++;
    frame.job = job_;
    std::memcpy(slot->bytes.get(), &frame, sizeof frame);
    std::byte* const behind = slot->bytes.get() + sizeof frame;
    if (!payload.empty()) std::memcpy(behind, payload.data(), payload.size());
    slot->peer = &peer;

    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.cb.send = on_slot_sent;
    param.user_data = slot;
    const ucs_status_ptr_t request =
        library().ucp_am_send_nbx(peer.endpoint, ucx::message_id, slot->bytes.get(), sizeof frame,
                                  behind, payload.size(), &param);
    if (UCS_PTR_IS_PTR(request)) {
        ++in_flight_;
        ++peer.slots;
        peer.large_slots += is_large ? 1 : 0;
        return true;
    }
    give_back(slot);
    if (request == nullptr) return true;
    lose(peer, WEFT_BROKEN_RANK);
    return false;
}

void UcxTransport::on_slot_sent(void* request, ucs_status_t status, void* given) {
    Slot* const slot = static_cast<Slot*>(given);
    Peer& peer = *slot->peer;
    UcxTransport& self = *peer.owner;
    self.library().ucp_request_free(request);
    --self.in_flight_;
    --peer.slots;
    peer.large_slots -= slot->is_large ? 1 : 0;
    self.give_back(slot);
    if (status != UCS_OK && !peer.lost) self.lose(peer, WEFT_BROKEN_RANK);
    if (peer.owes()) self.go_on(peer);
}

// Sends the message, or its RTS. False: the peer is lost.
// REQUIRES: has_slot() if it is eager, has_room_to_move() if it has a grant, else reserve_rts().
bool UcxTransport::say(Peer& peer, Post& post) {
    if (may_send_eagerly(peer, post)) {
        if (context_of(post.stream) != 0) peer.credit.spend(post.bytes);
        return send_frame(peer,
                          {.kind = FrameKind::eager, .stream = post.stream, .bytes = post.bytes},
                          {post.data, post.bytes});
    }
    ucx::SendLane& lane = peer.sends.find(post.stream);
    if (lane.grants > 0) {
        --lane.grants;
        return move(peer, post, FrameKind::direct);
    }
    post.ticket = ++peer.tickets;
    peer.awaiting_cts.push_back(&post);
    return send_frame(
        peer,
        {.kind = FrameKind::rts, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket},
        {});
}

// What fits into a slot need not stay in the user's buffer.
bool UcxTransport::has_room_to_move(const Peer& peer, const Post& post) {
    return sizeof(Frame) + post.bytes > large_bytes_ || has_slot(peer, post.bytes);
}

// The receive is posted, or will be. False: the peer is lost. REQUIRES: has_room_to_move().
bool UcxTransport::move(Peer& peer, Post& post, FrameKind kind) {
    const Frame frame{
        .kind = kind, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket};
    ++pieces_moved_;
    if (sizeof frame + post.bytes <= large_bytes_) {
        if (!send_frame(peer, frame, {post.data, post.bytes})) return false;
        finish(peer, peer.sends.find(post.stream), post);
        return true;
    }
    if (!need(peer)) return false;
    ucx::Transfer& transfer = begin_transfer(peer, post, /*sends=*/true);
    transfer.header = frame;
    transfer.header.from = rank_;
    transfer.header.sequence = peer.next_sent++;
    transfer.header.job = job_;

    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_RNDV;
    param.cb.send = on_message_sent;
    param.user_data = &transfer;
    const ucs_status_ptr_t request =
        library().ucp_am_send_nbx(peer.endpoint, ucx::message_id, &transfer.header,
                                  sizeof transfer.header, post.data, post.bytes, &param);
    if (UCS_PTR_IS_PTR(request)) return true;
    const bool has_failed = request != nullptr;
    end_transfer(&transfer, has_failed ? UCS_PTR_STATUS(request) : UCS_OK);
    return !has_failed;
}

void UcxTransport::on_message_sent(void* request, ucs_status_t status, void* given) {
    ucx::Transfer* const transfer = static_cast<ucx::Transfer*>(given);
    UcxTransport& self = *transfer->peer->owner;
    self.library().ucp_request_free(request);
    self.end_transfer(transfer, status);
}

// From now on UCX has the post's buffer.
ucx::Transfer& UcxTransport::begin_transfer(Peer& peer, Post& post, bool sends) {
    WEFT_ASSERT(post.transfer != nullptr);
    ucx::Transfer& transfer = *post.transfer;
    transfer = {.next = peer.transfers, .post = &post, .peer = &peer, .sends = sends};
    if (peer.transfers != nullptr) peer.transfers->previous = &transfer;
    peer.transfers = &transfer;
    post.is_moving = true;
    return transfer;
}

// UCX is done with it.
void UcxTransport::end_transfer(ucx::Transfer* transfer, ucs_status_t status) {
    Peer& peer = *transfer->peer;
    Post* const post = transfer->post;
    if (post != nullptr) {
        (transfer->previous != nullptr ? transfer->previous->next : peer.transfers) =
            transfer->next;
        if (transfer->next != nullptr) transfer->next->previous = transfer->previous;
        has_endpoints_to_close_ |= peer.is_to_be_closed && peer.transfers == nullptr;
    }
    const bool sends = transfer->sends;
    if (post == nullptr) transfers_.give_back(transfer);
    if (post != nullptr) end_moving(*post, status, sends);
}

// The user's buffer is the user's again.
void UcxTransport::end_moving(Post& post, ucs_status_t status, bool sends) {
    Peer& peer = *post.peer;
    ++pieces_moved_;
    if (status != UCS_OK && !peer.lost) lose(peer, WEFT_BROKEN_RANK);
    post.is_moving = false;
    if (post.is_forgotten) {
        --peer.forgotten;
        return free_post(&post);
    }
    ucx::LaneQueue& lane = sends ? peer.sends.find(post.stream) : peer.receives.find(post.stream);
    finish(peer, lane, post, status == UCS_OK ? Outcome{} : Outcome{.code = peer.loss});
}

// Sends what there are slots for.
void UcxTransport::go_on(Peer& peer) {
    while (!peer.waiting.empty()) {
        Post& post = *peer.waiting.front();
        const bool is_eager = may_send_eagerly(peer, post);
        const bool is_notice = context_of(post.stream) == 0;
        const bool has_grant = !is_eager && peer.sends.find(post.stream).grants > 0;
        if (is_eager    ? !has_slot(peer, post.bytes, is_notice)
            : has_grant ? !has_room_to_move(peer, post)
                        : !reserve_rts(peer))
            break;
        peer.waiting.pop();
        if (!say(peer, post)) return note_owing(peer);
        if (is_eager) finish(peer, peer.sends.find(post.stream), post);
    }
    while (!peer.granted.empty()) {
        Post& post = *peer.granted.front();
        if (!has_room_to_move(peer, post)) break;
        peer.granted.pop();
        if (!move(peer, post, FrameKind::data)) return note_owing(peer);
    }
    note_owing(peer);
}

// After a change of what waits for the peer.
void UcxTransport::note_owing(Peer& peer) {
    owing_ += static_cast<int>(peer.owes()) - static_cast<int>(peer.is_counted);
    peer.is_counted = peer.owes();
}

void UcxTransport::take_cts(Peer& peer, const Frame& frame) {
    Post* post = take_with_ticket(peer.awaiting_cts, frame.ticket);
    if (post == nullptr) return;  // abandoned, or a grant has come before
    peer.granted.push(post);
    note_owing(peer);
    go_on(peer);
}

// For the first message of the lane that waits for a CTS; if there is none, for the next large one.
void UcxTransport::take_grant(Peer& peer, const Frame& frame) {
    if (!contexts_.wants(context_of(frame.stream))) return;
    const auto first = std::ranges::find(peer.awaiting_cts, frame.stream, &Post::stream);
    if (first != peer.awaiting_cts.end()) {
        const std::uint64_t ticket = (*first)->ticket;
        return take_cts(peer, {.ticket = ticket});
    }
    if (ucx::SendLane* lane = peer.sends.try_find(frame.stream)) ++lane->grants;
}

void UcxTransport::take_drop(Peer& peer, const Frame& frame) {
    Post* post = take_with_ticket(peer.awaiting_cts, frame.ticket);
    if (post != nullptr) finish(peer, peer.sends.find(post->stream), *post);
}

// Nothing of these posts is reported. What still moves is waited for: settle_forgotten().
template <class Lane>
void UcxTransport::forget_posts(Lane& lane) {
    lane.forget([this](Post* post) {
        if (!post->is_moving) return free_post(post);
        post->is_forgotten = true;
        ++post->peer->forgotten;
    });
}

void UcxTransport::abandon_sends(Peer& peer, std::uint64_t context) {
    auto is_of_context = [&](const Post* post) { return context_of(post->stream) == context; };
    peer.waiting.remove_if(is_of_context);
    peer.granted.remove_if(is_of_context);
    std::erase_if(peer.awaiting_cts, is_of_context);
    peer.sends.for_each([&](ucx::SendLane& lane) {
        if (context_of(lane.stream) != context) return;
        forget_posts(lane);
        lane.grants = 0;
    });
    note_owing(peer);
}

void UcxTransport::abandon_receives(Peer& peer, std::uint64_t context) {
    std::erase_if(peer.announced,
                  [&](const Post* post) { return context_of(post->stream) == context; });
    peer.receives.for_each([&](ucx::LaneQueue& lane) {
        if (context_of(lane.stream) == context) forget_posts(lane);
    });
    drop_unwanted_messages(peer);
}

}  // namespace weft
