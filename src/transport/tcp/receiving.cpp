// Receiving on a shared connection: from the socket into the user's buffers; unexpected messages.
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <new>

#include "transport/tcp/shared_connection.h"

namespace weft::tcp {
namespace {

// How much is read at once while its destination is unknown: few enough that copying does not
// matter, and a message of this size takes one system call.
constexpr std::size_t unknown_bytes_max = 4 * 1024;
// Larger pieces of a message wait for its RTS: one that comes before is kept, and takes memory.
constexpr std::uint64_t early_bytes_max = 4 << 20;
// Larger unexpected messages are refused.
constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 39;

// Where the next byte of the frame's payload goes; null: nowhere.
std::byte* destination(const Wire& wire) {
    if (wire.post != nullptr && wire.post->data != nullptr)
        return wire.post->data + wire.post->moved;
    if (wire.unexpected != nullptr) return wire.unexpected->data + wire.unexpected->offset;
    return nullptr;
}

}  // namespace

Posted SharedConnection::receive(StreamId stream, MutBytes data, Token token) {
    const std::uint64_t packed = stream.packed();
    ReceiveLane& lane = receives_.find(packed);
    Unexpected* message = lane.unexpected.first;
    if (message != nullptr && message->is_complete() && message->bytes == data.size() &&
        lane.posts.empty() && !core_.reports.has_kept()) {
        if (!data.empty()) memcpy(data.data(), message->data, data.size());
        release(lane.unexpected.take_first());
        return Posted::done;
    }
    if (!is_notice(packed) && !has_room_for_control()) throw std::bad_alloc();
    const bool clears_others = message == nullptr && peer.cuts(stream, data.size()) &&
                               data.size() / peer.links_of(stream) <= early_bytes_max;
    if (clears_others) reserve_others(packed);
    Post& post = take_post(packed, data.data(), data.size(), token);
    Post* pieces = nullptr;
    if (message != nullptr) {
        try {
            pieces = reserve_pieces(packed, message->message_bytes);
        } catch (const std::bad_alloc&) {
            core_.posts.give_back(&post);
            throw;
        }
    }
    // (A call may have lost the peer, and with it incomplete messages.)
    if (!lane.unexpected.empty()) {
        meet(lane, post, pieces);
    } else {
        core_.give_back_pieces(pieces);
        append(lane, post);
        if (clears_others) clear_others(packed);
    }
    return Posted::pending;
}

// A receive for a message that has not come. REQUIRES: room for a CTS.
void SharedConnection::append(ReceiveLane& lane, Post& post) {
    lane.append_waiting(&post);
    // Receives of failure notices are posted for every rank, and need no connection.
    if (is_notice(lane.stream)) return;
    core_.expect(*this);
    core_.need(*this);
    // A call may have lost it.
    if (peer.lost) return end_all(lane, {.code = peer.loss});
    if (!post.stands_for_message() || post.message_bytes >= core_.settings.eager_threshold)
        (void)send_cts(lane, post);
}

// The other pieces of a message whose receive is posted need not wait for its RTS: one that comes
// before it is kept. REQUIRES: reserve_others().
void SharedConnection::clear_others(std::uint64_t stream) {
    const std::uint32_t links = peer.links_of(StreamId::unpack(stream));
    for (std::uint32_t i = 1; i < links && !peer.lost; ++i) {
        SharedConnection& other = connection_of(stream, i);
        core_.need(other);
        ++other.receives_.find_existing(stream)->spare_cts;
        (void)other.control(FrameKind::cts, stream, 0);
    }
}

// The receive meets a message that is here, wholly or in part, or its RTS.
void SharedConnection::meet(ReceiveLane& lane, Post& post, Post* pieces) {
    Unexpected* message = lane.unexpected.take_first();
    lane.posts.append(&post);
    if (!is_notice(lane.stream)) core_.expect(*this);
    const std::uint64_t sent_bytes = message->message_bytes;
    const bool fits = sent_bytes == post.message_bytes;
    const bool is_whole = message->is_whole();
    Post* const into = fits ? &post : nullptr;
    if (fits && post.data != nullptr && message->offset > 0)
        memcpy(post.data, message->data, message->offset);
    post.moved = message->offset;
    if (lane.coming.message == message) {
        lane.coming.message = nullptr;
        lane.coming.post = into;
    }
    if (in != nullptr && in->unexpected == message) {
        in->unexpected = nullptr;
        in->post = into;
    }
    if (message->is_rts) (void)send_cts(lane, post);
    release(message);
    begin_pieces(lane.stream, pieces, into);
    if (!fits)
        end(lane, post, Outcome::mismatch(sent_bytes, post.message_bytes));
    else if (is_whole)
        end(lane, post, {});
}

// The lanes of other pieces, with room for their CTSs.
void SharedConnection::reserve_others(std::uint64_t stream) {
    const std::uint32_t links = peer.links_of(StreamId::unpack(stream));
    for (std::uint32_t i = 1; i < links; ++i) {
        SharedConnection& other = connection_of(stream, i);
        (void)other.receives_.find(stream);
        if (!other.has_room_for_control()) throw std::bad_alloc();
    }
}

// If the message is cut: posts of its other pieces; null otherwise. Their connections must come up;
// the peer may be lost by that.
Post* SharedConnection::reserve_pieces(std::uint64_t stream, std::uint64_t message_bytes) {
    if (!peer.cuts(StreamId::unpack(stream), message_bytes)) return nullptr;
    reserve_others(stream);
    const std::uint32_t links = peer.links_of(StreamId::unpack(stream));
    Post* pieces = core_.take_pieces(stream, nullptr, message_bytes, 1, links);
    for (std::uint32_t i = 1; i < links; ++i) core_.need(connection_of(stream, i));
    return pieces;
}

// The message has met its receive, on the connection of its first piece: lets the others come.
// `first` null: they are dropped.
void SharedConnection::begin_pieces(std::uint64_t stream, Post* pieces, Post* first) {
    if (pieces == nullptr) return;
    std::uint64_t offset = 0;
    if (first != nullptr) {
        first->next_piece = pieces;
        offset = first->bytes =
            Cut::of(first->message_bytes, 0, peer.links_of(StreamId::unpack(stream))).bytes;
    }
    std::uint32_t number = 0;
    for (Post* piece = pieces; piece != nullptr;) {
        Post* const next = piece->next_piece;
        if (first != nullptr) {
            piece->first = first;
            piece->data = first->data + offset;
            offset += piece->bytes;
            ++first->pieces_left;
        } else {
            piece->is_settled = true;
            piece->next_piece = nullptr;
        }
        SharedConnection& other = connection_of(stream, ++number);
        ReceiveLane& lane = *other.receives_.find_existing(stream);
        if (lane.unexpected.empty())
            other.append(lane, *piece);
        else
            other.meet(lane, *piece, nullptr);
        piece = next;
    }
}

// The message of this RTS will not be received, but its sender must not wait forever: without
// memory for the answer, the two ranks lose each other.
void SharedConnection::let_drop(std::uint64_t stream, std::uint64_t message_bytes) {
    const StreamId id = StreamId::unpack(stream);
    const std::uint32_t pieces = peer.cuts(id, message_bytes) ? peer.links_of(id) : 1;
    try {
        for (std::uint32_t i = 0; i < pieces; ++i) {
            if (!connection_of(stream, i).control(FrameKind::cts, stream, 0))
                throw std::bad_alloc();
        }
    } catch (const std::bad_alloc&) {
        core_.lose(peer, WEFT_BROKEN_MEMORY);
    }
}

// Sends a CTS for the message of this receive; once. A message uses the lane's first CTS, even one
// for a later message: that one then uses this one's. False: there is no memory for it.
bool SharedConnection::send_cts(ReceiveLane& lane, Post& post) {
    if (std::exchange(post.cts_sent, true)) return true;
    if (lane.spare_cts == 0) return control(FrameKind::cts, lane.stream, 0);
    --lane.spare_cts;
    return true;
}

void SharedConnection::on_event(Wire& wire, std::uint32_t events) {
    if ((events & EPOLLOUT) != 0 && out == &wire) write();
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read(wire);
}

void SharedConnection::read(Wire& wire) {
    while (core_.may_move > 0 && wire.state != Wire::State::closed) {
        std::byte* const into = destination(wire);
        // Large payload goes where it belongs, together with the header behind it.
        const bool is_direct = into != nullptr && wire.left > unknown_bytes_max;
        iovec pieces[2] = {{into, wire.left}, {wire.header.data(), Frame::header_bytes}};
        if (!is_direct) {
            const bool is_dropped = wire.left > 0 && into == nullptr;
            pieces[0] = {core_.staging.data(),
                         is_dropped ? core_.staging.size() : unknown_bytes_max};
        }
        const std::size_t wanted =
            pieces[0].iov_len + (is_direct ? std::size_t{Frame::header_bytes} : 0);
        int error = 0;
        const ssize_t n = wire.read(std::span(pieces, is_direct ? 2u : 1u), error);
        if (n < 0) return core_.fail(wire, error);
        if (n == 0) break;
        const auto bytes = static_cast<std::size_t>(n);
        core_.count_moved(bytes);
        bool is_good = true;
        if (is_direct) {
            const std::size_t payload = std::min<std::size_t>(bytes, wire.left);
            advance(wire, payload);
            wire.header_bytes = bytes - payload;
            if (wire.header_bytes == Frame::header_bytes) is_good = take_frame(wire);
        } else {
            is_good = take_bytes(wire, {core_.staging.data(), bytes});
        }
        if (!is_good) return core_.fail(wire, EPROTO);
        if (bytes < wanted) break;
    }
    wire.note_read();
}

// False: no peer would send them.
bool SharedConnection::take_bytes(Wire& wire, Bytes bytes) {
    while (!bytes.empty() && wire.state != Wire::State::closed) {
        if (wire.left > 0) {
            const std::size_t n = std::min<std::size_t>(bytes.size(), wire.left);
            if (std::byte* const into = destination(wire)) memcpy(into, bytes.data(), n);
            advance(wire, n);
            bytes = bytes.subspan(n);
            continue;
        }
        const std::size_t n =
            std::min(bytes.size(), std::size_t{Frame::header_bytes} - wire.header_bytes);
        memcpy(wire.header.data() + wire.header_bytes, bytes.data(), n);
        wire.header_bytes += n;
        bytes = bytes.subspan(n);
        if (wire.header_bytes == Frame::header_bytes && !take_frame(wire)) return false;
    }
    return true;
}

void SharedConnection::advance(Wire& wire, std::uint64_t bytes) {
    wire.left -= bytes;
    if (wire.post != nullptr) wire.post->moved += bytes;
    if (wire.unexpected != nullptr) wire.unexpected->offset += bytes;
    if (wire.left == 0) end_payload(wire);
}

void SharedConnection::end_payload(Wire& wire) {
    Post* post = std::exchange(wire.post, nullptr);
    wire.unexpected = nullptr;
    if (post != nullptr && post->moved == post->bytes)
        end(*receives_.find_existing(wire.frame.stream), *post, {});
}

// A header has been read. False: no peer would send it here.
bool SharedConnection::take_frame(Wire& wire) {
    wire.header_bytes = 0;
    wire.frame = Frame::decoded(wire.header);
    const Frame& frame = wire.frame;
    if (frame.sequence != wire.next_sequence++) return false;
    if (wire.state == Wire::State::unanswered) {
        if (frame.kind == FrameKind::full) {
            core_.refused_by(wire, frame);
            return true;
        }
        if (frame.kind != FrameKind::welcome) return false;
        core_.take_up(wire, *this);
        return true;
    }
    if (in != &wire) return false;
    switch (frame.kind) {
        case FrameKind::eager:
        case FrameKind::data: return take_payload_frame(wire);
        case FrameKind::rts: return take_rts(frame);
        case FrameKind::cts:
            take_cts(frame.stream);
            go_on();
            return true;
        case FrameKind::credit: credit_.regain(frame.bytes); return true;
        case FrameKind::bye:
            has_left_ = true;
            core_.part_from(peer);
            return true;
        case FrameKind::welcome:
        case FrameKind::full: break;
    }
    return false;
}

bool SharedConnection::take_payload_frame(Wire& wire) {
    const Frame& frame = wire.frame;
    const bool is_wanted = core_.contexts.wants(context_of(frame.stream));
    ReceiveLane* lane = is_wanted ? receives_.try_find(frame.stream) : nullptr;
    wire.left = frame.payload_bytes();
    if (lane != nullptr) {
        ReceiveLane::Coming& coming = lane->coming;
        if (!coming.is_any) {
            if (!begin_message(*lane, frame)) return false;
        } else if (frame.kind == FrameKind::eager || coming.left != frame.bytes) {
            return false;
        } else {
            use_cts(*lane);
        }
        wire.post = coming.post;
        wire.unexpected = coming.message;
        coming.left -= std::min(coming.left, wire.left);
        if (coming.left == 0) coming = {};
    } else if (is_wanted) {
        core_.posts.lose_message(peer.rank, frame.stream);
    }
    if (frame.kind == FrameKind::eager && wire.unexpected == nullptr)
        pay_credit(Credit::cost_of(frame.bytes));
    if (wire.left == 0) end_payload(wire);
    return true;
}

// The first frame of a message. False: no peer would send it.
bool SharedConnection::begin_message(ReceiveLane& lane, const Frame& frame) {
    const bool is_eager = frame.kind == FrameKind::eager;
    if (Post* post = lane.match()) {
        if (!is_eager && !send_cts(lane, *post)) core_.posts.lose_message(peer.rank, frame.stream);
        if (is_eager && post->cts_sent) ++lane.spare_cts;
        const bool fits = frame.bytes == post->message_bytes;
        // The first piece has an RTS before it; of the others it is known how long they are.
        if (post->stands_for_message() ? peer.cuts(StreamId::unpack(frame.stream), frame.bytes)
                                       : !fits)
            return false;
        lane.coming = {true, frame.bytes, fits ? post : nullptr, nullptr};
        if (!fits) end(lane, *post, Outcome::mismatch(frame.bytes, post->message_bytes));
        return true;
    }
    // Without a CTS its receive was cancelled.
    if (!is_eager && lane.spare_cts == 0) return true;
    if (is_eager && Credit::cost_of(frame.bytes) > core_.credit_max) return false;
    if (!is_eager) --lane.spare_cts;
    Unexpected* message =
        frame.bytes <= message_bytes_max ? core_.unexpected.take(frame.bytes) : nullptr;
    if (message == nullptr) {
        core_.posts.lose_message(peer.rank, frame.stream);
        if (is_notice(frame.stream)) core_.lose(peer, WEFT_BROKEN_MEMORY);
        return true;
    }
    message->message_bytes = frame.bytes;
    if (is_eager) message->credit = Credit::cost_of(frame.bytes);
    lane.unexpected.append(message);
    lane.coming = {true, frame.bytes, nullptr, message};
    return true;
}

// A part of an unexpected message comes. If its RTS has not been answered, it has used an early CTS
// that was for another; if that one was cancelled, it is dropped.
void SharedConnection::use_cts(ReceiveLane& lane) {
    Unexpected*& message = lane.coming.message;
    if (message == nullptr || !message->is_rts) return;
    const bool has_cts = lane.spare_cts > 0;
    if (has_cts) --lane.spare_cts;
    if (has_cts && message->bytes <= message_bytes_max && core_.unexpected.make_room(*message)) {
        message->is_rts = false;
        return;
    }
    if (has_cts) core_.posts.lose_message(peer.rank, lane.stream);
    message = nullptr;
}

bool SharedConnection::take_rts(const Frame& frame) {
    const bool is_wanted = core_.contexts.wants(context_of(frame.stream));
    ReceiveLane* lane = is_wanted ? receives_.try_find(frame.stream) : nullptr;
    if (lane != nullptr && lane->coming.is_any) return false;
    const StreamId stream = StreamId::unpack(frame.stream);
    std::uint64_t bytes = frame.bytes;
    if (peer.cuts(stream, frame.bytes)) {
        if (peer.first_connection(stream) != name) return false;
        bytes = Cut::of(frame.bytes, 0, peer.links_of(stream)).bytes;
    }
    if (lane != nullptr && lane->waiting != nullptr) {
        answer_rts(*lane, frame, bytes);
    } else if (is_wanted) {
        Unexpected* message = lane != nullptr ? core_.unexpected.take_without_room(bytes) : nullptr;
        if (message == nullptr) {
            core_.posts.lose_message(peer.rank, frame.stream);
            return true;
        }
        message->message_bytes = frame.bytes;
        message->is_rts = true;
        lane->unexpected.append(message);
        lane->coming = {true, bytes, nullptr, message};
    } else {
        let_drop(frame.stream, frame.bytes);
    }
    return true;
}

// The message of an RTS has met its receive.
void SharedConnection::answer_rts(ReceiveLane& lane, const Frame& frame, std::uint64_t bytes) {
    Post* pieces = nullptr;
    try {
        pieces = reserve_pieces(frame.stream, frame.bytes);
    } catch (const std::bad_alloc&) {
        return core_.posts.lose_message(peer.rank, frame.stream);
    }
    if (peer.lost) return core_.give_back_pieces(pieces);
    Post& post = *lane.match();
    const bool fits = frame.bytes == post.message_bytes;
    Post* const into = fits ? &post : nullptr;
    lane.coming = {true, bytes, into, nullptr};
    if (!send_cts(lane, post)) core_.posts.lose_message(peer.rank, frame.stream);
    begin_pieces(frame.stream, pieces, into);
    if (!fits) end(lane, post, Outcome::mismatch(frame.bytes, post.message_bytes));
}

// It is no longer in its lane.
void SharedConnection::release(Unexpected* message) {
    if (in != nullptr && in->unexpected == message) in->unexpected = nullptr;
    const std::uint64_t credit = message->credit;
    core_.unexpected.release(message);
    pay_credit(credit);
}

void SharedConnection::pay_credit(std::uint64_t credit) {
    credit_.give_back(credit,
                      [this](std::uint64_t due) { return control(FrameKind::credit, 0, due); });
}

void SharedConnection::cancel_receives(std::uint64_t context) {
    receives_.for_each([&](ReceiveLane& lane) {
        if (context_of(lane.stream) != context) return;
        for (const Post* post = lane.posts.first; post != nullptr; post = post->next) {
            if (in != nullptr && in->post == post) in->post = nullptr;
        }
        forget_all(lane);
        lane.coming = {};
    });
    drop_unwanted_messages();
}

// An RTS is answered all the same: its sender must not wait forever.
void SharedConnection::drop_unwanted_messages() {
    drop_unwanted(receives_, core_.contexts, [&](ReceiveLane& lane, Unexpected* message) {
        lane.coming = {};
        if (message->is_rts || message->bytes != message->message_bytes)
            let_drop(lane.stream, message->message_bytes);
        release(message);
    });
}

void SharedConnection::cancel_context(std::uint64_t context) {
    cancel_sends(context);
    cancel_receives(context);
}

void SharedConnection::close_context(std::uint64_t context) {
    sends_.for_each([&](SendLane& lane) {
        if (context_of(lane.stream) == context) lane.early_cts = 0;
    });
    receives_.for_each([&](ReceiveLane& lane) {
        if (context_of(lane.stream) == context) lane.spare_cts = 0;
    });
    drop_unwanted_messages();
}

void SharedConnection::break_posts() {
    const Outcome lost{.code = peer.loss};
    receives_.for_each([&](ReceiveLane& lane) {
        end_all(lane, lost);
        lane.coming = {};
        // Messages after an incomplete one must not meet its receive.
        Chain<Unexpected> complete;
        bool is_kept = true;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            is_kept = is_kept && message->is_complete();
            if (is_kept)
                complete.append(message);
            else
                release(message);
        }
        lane.unexpected = complete;
    });
    sends_.for_each([&](SendLane& lane) {
        end_all(lane, lost);
        lane.front = SendLane::Front::none;
        lane.early_cts = 0;
    });
    controls_.clear();
    cleared_.clear();
    head_left_ = 0;
    payload_left_ = 0;
    drop_payload();
    writing_.reset();
    call_at_ns = 0;
    core_.note_owing(*this);
}

std::size_t SharedConnection::held_bytes() const {
    return sizeof *this + sends_.held_bytes() + receives_.held_bytes() + controls_.held_bytes() +
           cleared_.held_bytes() + orphan_.capacity();
}

}  // namespace weft::tcp
