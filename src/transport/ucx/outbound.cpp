// Sending: small messages from slots, large ones from the user's buffers.

#include "transport/matching/message_functions.h"
#include "transport/ucx/ucx.h"

namespace weft {

template class MessageTransport<UcxTransport, ucx::Peer>;

// Null: it has been sent. Otherwise a request, of which `done` tells, or an error.
ucs_status_ptr_t UcxTransport::send(ucp_ep_h endpoint, const void* header, const std::byte* data,
                                    std::size_t bytes, std::uint32_t flags,
                                    ucp_send_nbx_callback_t done, void* given) {
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flags;
    param.cb.send = done;
    param.user_data = given;
    return library().ucp_am_send_nbx(endpoint, message_id, header, sizeof(Frame), data, bytes,
                                     &param);
}

bool UcxTransport::send_frame(Peer& peer, Frame frame, Bytes payload) {
    if (!need(peer)) return false;
    frame.job = job_;
    Slot* const slot = fill_slot(peer, frame, payload);
    unsent_ = nullptr;
    const ucs_status_ptr_t request =
        send(peer.endpoint_for(frame.stream), slot->bytes.get(), slot->bytes.get() + sizeof frame,
             payload.size(), UCP_AM_SEND_FLAG_EAGER, on_slot_sent, slot);
    note_in_flight(*slot);
    if (UCS_PTR_IS_PTR(request)) {
        unsent_ = slot;
        begin_to_look();
        return true;
    }
    take_back(slot);
    if (request == nullptr) return true;
    lose(peer, WEFT_BROKEN_RANK);
    return false;
}

// While UCX connects, it sends only when it is called.
void UcxTransport::finish_sent(Peer& peer, Post& post) {
    if (unsent_ == nullptr) return MessageTransport::finish_sent(peer, post);
    post.slot = unsent_;
    unsent_->post = &post;
}

void UcxTransport::on_slot_sent(void* request, ucs_status_t status, void* given) {
    Slot* const slot = static_cast<Slot*>(given);
    Peer& peer = *slot->peer;
    UcxTransport& self = *peer.owner;
    self.library().ucp_request_free(request);
    if (status != UCS_OK && !peer.lost) self.lose(peer, WEFT_BROKEN_RANK);
    if (Post* const post = slot->post) {
        post->slot = nullptr;  // which another post may have before this one is reported
        self.finish(peer, peer.sends.find(post->stream), *post);
    }
    self.take_back(slot);
    if (peer.owes()) self.go_on(peer);
}

// Data that fits into a slot need not stay in the user's buffer. A larger message waits for the
// next progress(), so that the CTSs of later posts leave before it: UCX queues them behind all
// bytes for that rank.
bool UcxTransport::has_room_to_move(const Peer& peer, const Post& post) {
    if (post.bytes <= limits_.payload_max) return has_slot(peer, post.bytes);
    has_held_back_ |= !is_progressing_;
    return is_progressing_;
}

// The receive is posted, or will be.
bool UcxTransport::move(Peer& peer, Post& post, FrameKind kind) {
    const Frame frame{
        .kind = kind, .stream = post.stream, .bytes = post.bytes, .ticket = post.ticket};
    ++parts_moved_;
    if (post.bytes <= limits_.payload_max) {
        if (!send_frame(peer, frame, {post.data, post.bytes})) return false;
        finish_sent(peer, post);
        return true;
    }
    if (!need(peer)) return false;
    const std::uint32_t pieces = peer.pieces_of(post.stream, post.bytes);
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
        const std::uint64_t bytes = Cut::of(post.bytes, piece, pieces).bytes;
        if (!move_piece(peer, post, piece, bytes, frame)) return false;
    }
    return true;
}

// False: the peer is lost; then the post may have ended.
bool UcxTransport::move_piece(Peer& peer, Post& post, std::uint32_t piece, std::uint64_t bytes,
                              Frame header) {
    const std::byte* const data = post.data + (post.bytes - post.left);
    ucx::Transfer& transfer = begin_transfer(peer, post, bytes, /*sends=*/true);
    if (piece > 0) header.kind = FrameKind::piece;
    header.from = rank_;
    header.sequence = peer.next_sent++;
    header.job = job_;
    transfer.header = header;
    ucp_ep_h const endpoint =
        peer.endpoints[peer.connection_of(StreamId::unpack(post.stream), piece)];
    const ucs_status_ptr_t request =
        send(endpoint, &transfer.header, data, bytes,
             peer.avoids_rendezvous ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV,
             on_message_sent, &transfer);
    if (UCS_PTR_IS_PTR(request)) return true;
    const bool has_failed = request != nullptr;
    if (has_failed) post.left = 0;
    end_transfer(&transfer, has_failed ? UCS_PTR_STATUS(request) : UCS_OK);
    return !has_failed;
}

void UcxTransport::on_message_sent(void* request, ucs_status_t status, void* given) {
    ucx::Transfer* const transfer = static_cast<ucx::Transfer*>(given);
    UcxTransport& self = *transfer->peer->owner;
    self.library().ucp_request_free(request);
    self.end_transfer(transfer, status);
}

// From now on UCX has `bytes` more of the post's buffer.
ucx::Transfer& UcxTransport::begin_transfer(Peer& peer, Post& post, std::uint64_t bytes,
                                            bool sends) {
    WEFT_ASSERT(post.transfers != nullptr && post.left >= bytes);
    ucx::Transfer& transfer = *std::exchange(post.transfers, post.transfers->next);
    transfer = {.next = peer.transfers, .post = &post, .peer = &peer, .sends = sends};
    if (peer.transfers != nullptr) peer.transfers->previous = &transfer;
    peer.transfers = &transfer;
    post.is_moving = true;
    ++post.moving;
    post.left -= bytes;
    return transfer;
}

// UCX is done with it.
void UcxTransport::end_transfer(ucx::Transfer* transfer, ucs_status_t status) {
    Peer& peer = *transfer->peer;
    Post* const post = transfer->post;
    const bool sends = transfer->sends;
    if (post != nullptr) {
        (transfer->previous != nullptr ? transfer->previous->next : peer.transfers) =
            transfer->next;
        if (transfer->next != nullptr) transfer->next->previous = transfer->previous;
        has_endpoints_to_close_ |= peer.is_to_be_closed && peer.transfers == nullptr;
    }
    transfers_.give_back(transfer);
    if (post == nullptr) return;
    if (status != UCS_OK) {
        post->has_failed = true;
        if (!peer.lost) lose(peer, WEFT_BROKEN_RANK);
    }
    end_piece(*post, sends);
}

// After the last one the user's buffer is the user's again.
void UcxTransport::end_piece(Post& post, bool sends) {
    ++parts_moved_;
    if (--post.moving > 0 || post.left > 0) return;
    Peer& peer = *post.peer;
    post.is_moving = false;
    if (post.is_forgotten) {
        --peer.forgotten;
        return free_post(&post);
    }
    LaneQueue& lane = sends ? peer.sends.find(post.stream) : peer.receives.find(post.stream);
    finish(peer, lane, post, post.has_failed ? Outcome{.code = peer.loss} : Outcome{});
}

}  // namespace weft
