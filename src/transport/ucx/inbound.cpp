// Receiving: from UCX's messages into the user's buffers; unexpected messages.
#include <algorithm>
#include <cstring>
#include <new>

#include "transport/ucx/ucx.h"

namespace weft {

using ucx::Frame;
using ucx::FrameKind;
using ucx::Post;
using ucx::Unexpected;

Posted UcxTransport::post_recv(const Lane& from, MutBytes data, Token token) {
    Peer& peer = peer_of(from.peer);
    const std::uint64_t stream = from.stream.packed();
    // Receives of failure notices are posted for every rank, and need no endpoint.
    const bool is_notice = context_of(stream) == 0;
    if (!peer.lost && !is_notice) (void)need(peer);
    ucx::LaneQueue& lane = peer.receives.find(stream);
    if (!lane.unexpected.empty()) return receive_unexpected(peer, lane, data, token);
    if (peer.lost) return refuse(peer, lane, token);
    Post* post = take_post(peer, stream, data.data(), data.size(), token);
    lane.append_waiting(post);
    const bool is_large = data.size() >= settings_.eager_threshold;
    if (is_large && !is_notice && has_slot(peer, 0))
        send_frame(peer, {.kind = FrameKind::grant, .stream = stream}, {});
    return Posted::pending;
}

// The lane's next message, or its RTS, is here.
Posted UcxTransport::receive_unexpected(Peer& peer, ucx::LaneQueue& lane, MutBytes data,
                                        Token token) {
    Unexpected* message = lane.unexpected.first;
    const bool fits = message->bytes == data.size();
    const bool is_here = !message->is_rts && message->descriptor == nullptr;
    const bool is_done = is_here && fits && lane.posts.empty() && !reports_.has_kept();
    if (message->is_rts) reserve_begin(peer);
    Post* post = is_done ? nullptr : take_post(peer, lane.stream, data.data(), data.size(), token);
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
        void* const descriptor = std::exchange(message->descriptor, nullptr);
        Arrival arrival{.data = is_here ? message->data : descriptor,
                        .bytes = message->bytes,
                        .is_rendezvous = !is_here};
        receive_into(peer, lane, *post, arrival);
        if (!is_here && !arrival.is_kept) release_descriptor(descriptor);
    }
    release(peer, message);
    return Posted::pending;
}

// The next begin() does not throw.
void UcxTransport::reserve_begin(Peer& peer) {
    if (peer.announced.size() == peer.announced.capacity())
        peer.announced.reserve(2 * peer.announced.size() + 4);
    if (!peer.lost && !reserve_slot(/*is_large=*/false, /*is_spare=*/true)) throw std::bad_alloc();
}

// An RTS has matched its receive.
void UcxTransport::begin(Peer& peer, ucx::LaneQueue& lane, Post& post, std::uint64_t bytes,
                         std::uint64_t ticket) {
    reserve_begin(peer);
    if (peer.lost) {
        finish(peer, lane, post, {.code = peer.loss});
    } else if (bytes != post.bytes) {
        finish(peer, lane, post, Outcome::mismatch(bytes, post.bytes));
        drop(peer, ticket);
    } else {
        post.ticket = ticket;
        peer.announced.push_back(&post);
        send_frame(peer, {.kind = FrameKind::cts, .ticket = ticket}, {});
    }
}

// Its sender must not wait forever: without memory to say so, the two ranks lose each other.
void UcxTransport::drop(Peer& peer, std::uint64_t ticket) {
    if (has_slot(peer, 0, /*is_spare=*/true))
        send_frame(peer, {.kind = FrameKind::drop, .ticket = ticket}, {});
    else
        lose(peer, WEFT_BROKEN_MEMORY);
}

// UCX calls this for every active message.
ucs_status_t UcxTransport::on_message(void* transport, const void* header, std::size_t header_bytes,
                                      void* data, std::size_t bytes,
                                      const ucp_am_recv_param_t* param) {
    UcxTransport& self = *static_cast<UcxTransport*>(transport);
    Frame frame;
    const bool is_frame = header_bytes == sizeof frame;
    if (is_frame) std::memcpy(&frame, header, sizeof frame);
    const bool is_ours = is_frame && frame.job == self.job_ && frame.from >= 0 &&
                         static_cast<std::size_t>(frame.from) < self.peers_.size() &&
                         !self.peers_[static_cast<std::size_t>(frame.from)].address.empty();
    if (!is_ours) {
        ++self.strangers_;
        return UCS_OK;
    }
    Peer& peer = self.peer_of(frame.from);
    ++self.frames_taken_;
    if (peer.lost) return UCS_OK;
    Arrival arrival{.data = data,
                    .bytes = bytes,
                    .is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};
    if (frame.sequence == peer.next_taken) {
        ++peer.next_taken;
        self.take_frame(peer, frame, arrival);
        if (!peer.early.empty()) self.take_early(peer);
    } else {
        self.put_aside(peer, frame, arrival);
    }
    return arrival.is_kept ? UCS_INPROGRESS : UCS_OK;
}

// An earlier frame is still on its way.
void UcxTransport::put_aside(Peer& peer, const Frame& frame, Arrival& arrival) {
    ucx::Early* const early =
        arrival.is_rendezvous ? early_.announce(arrival.bytes) : early_.take(arrival.bytes);
    if (early == nullptr) return lose(peer, WEFT_BROKEN_MEMORY);
    early->frame = frame;
    if (arrival.is_rendezvous) {
        early->descriptor = arrival.data;
        arrival.is_kept = true;
    } else if (arrival.bytes > 0) {
        std::memcpy(early->data, arrival.data, arrival.bytes);
    }
    peer.early.append(early);
}

// Those whose turn has come. (Mostly they are in order themselves.)
void UcxTransport::take_early(Peer& peer) {
    for (bool has_taken = true; has_taken && !peer.lost;) {
        has_taken = false;
        Chain<ucx::Early> rest;
        while (!peer.early.empty()) {
            ucx::Early* const early = peer.early.take_first();
            if (peer.lost || early->frame.sequence != peer.next_taken) {
                rest.append(early);
                continue;
            }
            ++peer.next_taken;
            has_taken = true;
            void* const descriptor = std::exchange(early->descriptor, nullptr);
            Arrival arrival{.data = descriptor != nullptr ? descriptor : early->data,
                            .bytes = early->bytes,
                            .is_rendezvous = descriptor != nullptr};
            take_frame(peer, early->frame, arrival);
            if (descriptor != nullptr && !arrival.is_kept) release_descriptor(descriptor);
            early_.release(early);
        }
        peer.early = rest;
    }
    if (peer.lost) drop_early(peer);
}

void UcxTransport::take_frame(Peer& peer, const Frame& frame, Arrival& arrival) {
    const bool has_message = frame.kind == FrameKind::eager || frame.kind == FrameKind::data ||
                             frame.kind == FrameKind::direct;
    if (has_message && arrival.bytes != frame.bytes) return lose(peer, WEFT_BROKEN_TRANSPORT);
    if (frame.kind == FrameKind::eager && arrival.is_rendezvous)
        return lose(peer, WEFT_BROKEN_TRANSPORT);
    switch (frame.kind) {
        case FrameKind::eager: return take_eager(peer, frame, arrival);
        case FrameKind::rts: return take_rts(peer, frame);
        case FrameKind::cts: return take_cts(peer, frame);
        case FrameKind::drop: return take_drop(peer, frame);
        case FrameKind::data: return take_data(peer, frame, arrival);
        case FrameKind::grant: return take_grant(peer, frame);
        case FrameKind::direct: return take_direct(peer, frame, arrival);
        case FrameKind::credit: return peer.credit.regain(frame.bytes);
        case FrameKind::bye: return take_bye(peer);
        case FrameKind::thanks: peer.has_thanked = true; return;
    }
    lose(peer, WEFT_BROKEN_TRANSPORT);
}

void UcxTransport::take_eager(Peer& peer, const Frame& frame, const Arrival& arrival) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    const bool is_notice = context_of(frame.stream) == 0;
    ucx::LaneQueue* lane = is_wanted ? peer.receives.try_find(frame.stream)
                                     : peer.receives.find_existing(frame.stream);
    const std::uint64_t credit = is_notice ? 0 : Credit::cost_of(frame.bytes);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        const bool fits = post->bytes == frame.bytes;
        if (fits && frame.bytes > 0) std::memcpy(post->data, arrival.data, frame.bytes);
        finish(peer, *lane, *post, fits ? Outcome{} : Outcome::mismatch(frame.bytes, post->bytes));
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? unexpected_.take(frame.bytes) : nullptr;
        if (message != nullptr) {
            message->credit = credit;
            if (frame.bytes > 0) std::memcpy(message->data, arrival.data, frame.bytes);
            lane->unexpected.append(message);
            return;
        }
        if (is_notice) return lose(peer, WEFT_BROKEN_MEMORY);
        lose_message(peer, frame.stream);
    }
    pay_credit(peer, credit);
}

void UcxTransport::take_rts(Peer& peer, const Frame& frame) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    ucx::LaneQueue* lane = is_wanted ? peer.receives.try_find(frame.stream)
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

// The message of an RTS. Usually its receive is posted; a stale grant may have let it come earlier.
void UcxTransport::take_data(Peer& peer, const Frame& frame, Arrival& arrival) {
    const auto place = std::ranges::find(peer.announced, frame.ticket, &Post::ticket);
    if (place != peer.announced.end()) {
        Post& post = **place;
        peer.announced.erase(place);
        if (post.bytes != frame.bytes) return lose(peer, WEFT_BROKEN_TRANSPORT);
        return receive_into(peer, peer.receives.find(post.stream), post, arrival);
    }
    ucx::LaneQueue* lane = peer.receives.find_existing(frame.stream);
    if (lane == nullptr) return;  // abandoned
    for (Unexpected* message = lane->unexpected.first; message != nullptr;
         message = message->next) {
        if (!message->is_rts || message->ticket != frame.ticket) continue;
        if (message->bytes != frame.bytes) return lose(peer, WEFT_BROKEN_TRANSPORT);
        if (arrival.is_rendezvous) {
            message->descriptor = arrival.data;
            arrival.is_kept = true;
        } else if (!unexpected_.make_room(*message)) {
            return lose_message(peer, frame.stream);
        } else if (frame.bytes > 0) {
            std::memcpy(message->data, arrival.data, frame.bytes);
        }
        message->is_rts = false;
        return;
    }
}

void UcxTransport::take_direct(Peer& peer, const Frame& frame, Arrival& arrival) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    ucx::LaneQueue* lane = is_wanted ? peer.receives.try_find(frame.stream)
                                     : peer.receives.find_existing(frame.stream);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        if (post->bytes == frame.bytes) return receive_into(peer, *lane, *post, arrival);
        finish(peer, *lane, *post, Outcome::mismatch(frame.bytes, post->bytes));
    } else if (is_wanted && (lane == nullptr || !keep(*lane, frame, arrival))) {
        lose_message(peer, frame.stream);
    }
}

// An unexpected message that needed no RTS. False: out of memory.
bool UcxTransport::keep(ucx::LaneQueue& lane, const Frame& frame, Arrival& arrival) {
    Unexpected* message =
        arrival.is_rendezvous ? unexpected_.announce(frame.bytes) : unexpected_.take(frame.bytes);
    if (message == nullptr) return false;
    if (arrival.is_rendezvous) {
        message->descriptor = arrival.data;
        arrival.is_kept = true;
    } else if (frame.bytes > 0) {
        std::memcpy(message->data, arrival.data, frame.bytes);
    }
    lane.unexpected.append(message);
    return true;
}

// The message has met its receive, and is as long.
void UcxTransport::receive_into(Peer& peer, ucx::LaneQueue& lane, Post& post, Arrival& arrival) {
    if (!arrival.is_rendezvous) {
        if (post.bytes > 0) std::memcpy(post.data, arrival.data, post.bytes);
        return finish(peer, lane, post);
    }
    if (post.transfer == nullptr) {  // it is too small for a rendezvous
        lose(peer, WEFT_BROKEN_TRANSPORT);
        return;
    }
    ucx::Transfer& transfer = begin_transfer(peer, post, /*sends=*/false);
    arrival.is_kept = true;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = on_received;
    param.user_data = &transfer;
    const ucs_status_ptr_t request =
        library().ucp_am_recv_data_nbx(worker_->get(), arrival.data, post.data, post.bytes, &param);
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

void UcxTransport::pay_credit(Peer& peer, std::uint64_t credit) {
    const std::uint64_t due = peer.credit.give_back(credit);
    if (due == 0 || peer.lost) return;
    if (has_slot(peer, 0, /*is_spare=*/true))
        send_frame(peer, {.kind = FrameKind::credit, .bytes = due}, {});
    else
        peer.credit.take_back(due);
}

void UcxTransport::release(Peer& peer, Unexpected* message) {
    if (message->descriptor != nullptr) release_descriptor(message->descriptor);
    const std::uint64_t credit = message->credit;
    unexpected_.release(message);
    pay_credit(peer, credit);
}

void UcxTransport::drop_unwanted_messages(Peer& peer) {
    peer.receives.for_each([&](ucx::LaneQueue& lane) {
        if (contexts_.wants(context_of(lane.stream))) return;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            if (message->is_rts && !peer.lost) drop(peer, message->ticket);
            release(peer, message);
        }
    });
}

}  // namespace weft
