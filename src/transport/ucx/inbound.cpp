// Receiving: from UCX's messages into the user's buffers.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ucx/ucx.h"

namespace weft {

// UCX calls this for every active message.
ucs_status_t UcxTransport::on_message(void* given, const void* header, std::size_t header_bytes,
                                      void* data, std::size_t bytes,
                                      const ucp_am_recv_param_t* param) {
    const Ear& ear = *static_cast<Ear*>(given);
    UcxTransport& self = *ear.owner;
    Frame frame;
    const bool is_frame = header_bytes == sizeof frame;
    if (is_frame) std::memcpy(&frame, header, sizeof frame);
    const bool is_ours = is_frame && frame.job == self.job_ && frame.from >= 0 &&
                         static_cast<std::size_t>(frame.from) < self.peers_.size() &&
                         !self.peers_[static_cast<std::size_t>(frame.from)].addresses.empty();
    if (!is_ours) {
        ++self.strangers_;
        return UCS_OK;
    }
    Peer& peer = self.peer_of(frame.from);
    ++self.frames_taken_;
    if (peer.lost) return UCS_OK;
    const bool is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    ucx::Rendezvous here{.peer = &peer, .worker = ear.worker, .descriptor = data, .bytes = bytes};
    FrameContent arrival{
        .data = data, .bytes = bytes, .descriptor = is_rendezvous ? &here : nullptr};
    if (frame.sequence == peer.next_taken && peer.is_met()) {
        ++peer.next_taken;
        self.take_frame(peer, frame, arrival);
        if (!peer.aside.empty()) self.take_aside(peer);
    } else {
        self.put_aside(peer, frame, arrival);
    }
    return here.descriptor == nullptr ? UCS_INPROGRESS : UCS_OK;
}

// An earlier frame is still on its way; or there is no endpoint for an answer, and none may be made
// in this callback: UCX 1.13 then takes away the connection that it is reading from, and crashes.
void UcxTransport::put_aside(Peer& peer, const Frame& frame, FrameContent& arrival) {
    has_unmet_ |= !peer.is_met();
    ucx::FrameAside* const one = aside_.take_without_room(arrival.bytes);
    if (one == nullptr) return lose(peer, WEFT_BROKEN_MEMORY);
    one->frame = frame;
    if (auto* const rendezvous = static_cast<ucx::Rendezvous*>(arrival.descriptor)) {
        one->rendezvous = *rendezvous;
        rendezvous->descriptor = nullptr;
    } else if (!aside_.make_room(*one)) {
        if (context_of(frame.stream) == 0) lose(peer, WEFT_BROKEN_MEMORY);
        one->is_lost = true;
    } else if (arrival.bytes > 0) {
        std::memcpy(one->data, arrival.data, arrival.bytes);
    }
    peer.aside.append(one);
}

// Those whose turn has come. (Mostly they are in order themselves.)
void UcxTransport::take_aside(Peer& peer) {
    for (bool has_taken = true; has_taken && !peer.lost;) {
        has_taken = false;
        Chain<ucx::FrameAside> rest;
        while (!peer.aside.empty()) {
            ucx::FrameAside* const one = peer.aside.take_first();
            if (peer.lost || one->frame.sequence != peer.next_taken) {
                rest.append(one);
                continue;
            }
            ++peer.next_taken;
            has_taken = true;
            ucx::Rendezvous& here = one->rendezvous;
            FrameContent arrival{one->data, one->bytes,
                                 here.descriptor != nullptr ? &here : nullptr};
            if (one->is_lost)
                lose_frame(peer, one->frame);
            else
                take_frame(peer, one->frame, arrival);
            release(here);
            aside_.release(one);
        }
        peer.aside = rest;
    }
    if (peer.lost) drop_aside(peer);
}

void UcxTransport::take_aside_of_unmet() {
    for (Peer& peer : peers_) {
        if (!peer.is_met() && !peer.aside.empty()) take_aside(peer);
    }
}

// A message, for which there was no memory.
void UcxTransport::lose_frame(Peer& peer, const Frame& frame) {
    lose_message(peer, frame.stream);
    if (frame.kind == FrameKind::eager) pay_credit(peer, Credit::cost_of(frame.bytes));
}

void UcxTransport::take_frame(Peer& peer, const Frame& frame, FrameContent& arrival) {
    const bool has_message = frame.kind == FrameKind::eager || frame.kind == FrameKind::data ||
                             frame.kind == FrameKind::early_data;
    const bool is_rendezvous = arrival.descriptor != nullptr;
    const bool is_cut = has_message && is_rendezvous && arrival.bytes < frame.bytes;
    if ((has_message && arrival.bytes != frame.bytes && !is_cut) ||
        (frame.kind == FrameKind::eager && is_rendezvous) ||
        (frame.kind == FrameKind::piece) != (peer.coming.left > 0))
        return lose(peer, WEFT_BROKEN_TRANSPORT);
    if (is_cut)
        peer.coming = {.left = frame.bytes - arrival.bytes,
                       .first = static_cast<ucx::Rendezvous*>(arrival.descriptor)};
    take(peer, frame, arrival);
    // It was dropped.
    if (is_cut && peer.coming.first == arrival.descriptor) peer.coming.first = nullptr;
}

void UcxTransport::take(Peer& peer, const Frame& frame, FrameContent& arrival) {
    switch (frame.kind) {
        case FrameKind::eager:
            if (!take_eager(peer, frame, arrival)) lose(peer, WEFT_BROKEN_MEMORY);
            return;
        case FrameKind::rts: return take_rts(peer, frame);
        case FrameKind::cts: return take_cts(peer, frame.ticket);
        case FrameKind::drop: return take_drop(peer, frame.ticket);
        case FrameKind::data: return take_data(peer, frame, arrival);
        case FrameKind::early_cts: return take_early_cts(peer, frame);
        case FrameKind::early_data: return take_early_data(peer, frame, arrival);
        case FrameKind::credit: return peer.credit.regain(frame.bytes);
        case FrameKind::bye: return take_bye(peer);
        case FrameKind::thanks: peer.has_thanked = true; return;
        case FrameKind::piece: return take_piece(peer, arrival);
    }
    lose(peer, WEFT_BROKEN_TRANSPORT);
}

// The message of an RTS. Usually its receive is posted; an early CTS for another receive may have
// let it come before.
void UcxTransport::take_data(Peer& peer, const Frame& frame, FrameContent& arrival) {
    const auto place = std::ranges::find(peer.awaiting_data, frame.ticket, &Post::ticket);
    if (place != peer.awaiting_data.end()) {
        Post& post = **place;
        peer.awaiting_data.erase(place);
        if (post.bytes != frame.bytes) return lose(peer, WEFT_BROKEN_TRANSPORT);
        return receive_into(peer, peer.receives.find(post.stream), post, arrival);
    }
    LaneQueue* lane = peer.receives.find_existing(frame.stream);
    if (lane == nullptr) return;  // cancelled
    for (Unexpected* message = lane->unexpected.first; message != nullptr;
         message = message->next) {
        if (!message->is_rts || message->ticket != frame.ticket) continue;
        if (message->bytes != frame.bytes) return lose(peer, WEFT_BROKEN_TRANSPORT);
        if (!keep(message, arrival)) return lose_message(peer, frame.stream);
        message->is_rts = false;
        return;
    }
}

void UcxTransport::take_early_data(Peer& peer, const Frame& frame, FrameContent& arrival) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    LaneQueue* lane = receiving_lane(peer, frame.stream, is_wanted);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        if (post->bytes == frame.bytes) return receive_into(peer, *lane, *post, arrival);
        finish(peer, *lane, *post, Outcome::mismatch(frame.bytes, post->bytes));
    } else if (is_wanted) {
        Unexpected* message =
            lane != nullptr ? unexpected_.take_without_room(frame.bytes) : nullptr;
        if (message == nullptr) return lose_message(peer, frame.stream);
        if (keep(message, arrival)) return lane->unexpected.append(message);
        unexpected_.release(message);
        lose_message(peer, frame.stream);
    }
}

// REQUIRES: some are to come.
void UcxTransport::take_piece(Peer& peer, FrameContent& arrival) {
    auto* const here = static_cast<ucx::Rendezvous*>(arrival.descriptor);
    if (here == nullptr || here->bytes > peer.coming.left) return lose(peer, WEFT_BROKEN_TRANSPORT);
    const ucx::Coming coming = peer.coming;
    peer.coming.left -= here->bytes;
    if (peer.coming.left == 0) peer.coming = {};
    if (coming.post != nullptr) return receive_piece(peer, *coming.post, *here);
    if (coming.first == nullptr) return;
    if (coming.next == nullptr) return lose(peer, WEFT_BROKEN_TRANSPORT);  // as no sender cuts it
    ucx::Rendezvous* const rest = coming.next->next;
    *coming.next = std::exchange(*here, {});
    coming.next->next = rest;
    if (peer.coming.left > 0) peer.coming.next = rest;
}

// With room for the pieces that are to come. Null: out of memory.
ucx::Rendezvous* UcxTransport::keep(ucx::Rendezvous& here) {
    Peer& peer = *here.peer;
    const bool is_cut = peer.coming.first == &here;
    ucx::Rendezvous* rest = nullptr;
    for (std::uint32_t i = is_cut ? peer.links : 1; i > 0; --i) {
        ucx::Rendezvous* const kept = rendezvous_.try_take();
        if (kept == nullptr) {
            release_descriptor(rest);
            return nullptr;
        }
        *kept = {.next = rest, .peer = &peer};
        rest = kept;
    }
    ucx::Rendezvous* const next = rest->next;
    *rest = std::exchange(here, {});
    rest->next = next;
    if (is_cut) peer.coming.first = rest;
    if (is_cut) peer.coming.next = next;
    return rest;
}

// Keeps the data of an unexpected message. False: out of memory.
bool UcxTransport::keep(Unexpected* message, FrameContent& arrival) {
    if (auto* const here = static_cast<ucx::Rendezvous*>(arrival.descriptor)) {
        message->descriptor = keep(*here);
        return message->descriptor != nullptr;
    }
    if (!unexpected_.make_room(*message)) return false;
    if (arrival.bytes > 0) std::memcpy(message->data, arrival.data, arrival.bytes);
    return true;
}

void UcxTransport::receive_into(Peer& peer, LaneQueue& lane, Post& post, FrameContent& arrival) {
    auto* const first = static_cast<ucx::Rendezvous*>(arrival.descriptor);
    if (first == nullptr) return MessageTransport::receive_into(peer, lane, post, arrival);
    if (peer.coming.first == first) {
        peer.coming.first = nullptr;
        peer.coming.post = &post;
    }
    for (ucx::Rendezvous* piece = first; piece != nullptr && !peer.lost; piece = piece->next)
        if (piece->descriptor != nullptr) receive_piece(peer, post, *piece);
}

void UcxTransport::receive_piece(Peer& peer, Post& post, ucx::Rendezvous& arrival) {
    if (post.transfers == nullptr || post.left < arrival.bytes) {  // as no sender cuts it
        lose(peer, WEFT_BROKEN_TRANSPORT);
        return;
    }
    std::byte* const data = post.data + (post.bytes - post.left);
    ucx::Transfer& transfer = begin_transfer(peer, post, arrival.bytes, /*sends=*/false);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = on_received;
    param.user_data = &transfer;
    const ucs_status_ptr_t request = library().ucp_am_recv_data_nbx(
        arrival.worker, std::exchange(arrival.descriptor, nullptr), data, arrival.bytes, &param);
    if (UCS_PTR_IS_PTR(request)) return;
    end_transfer(&transfer, request == nullptr ? UCS_OK : UCS_PTR_STATUS(request));
}

void UcxTransport::on_received(void* request, ucs_status_t status, std::size_t /*bytes*/,
                               void* given) {
    ucx::Transfer* const transfer = static_cast<ucx::Transfer*>(given);
    UcxTransport& self = *transfer->peer->owner;
    self.library().ucp_request_free(request);
    self.end_transfer(transfer, status);
}

}  // namespace weft
