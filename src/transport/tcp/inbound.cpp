// Receiving: from the socket into the user's buffers; unexpected messages.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Post;
using tcp::ReceiveLane;
using tcp::Unexpected;

namespace {

constexpr std::size_t read_bytes_max = 1 << 20;  // in one go
// How much is read at once while its destination is unknown: few enough that copying does not
// matter, and a message of this size takes one system call.
constexpr std::size_t unknown_bytes_max = 4 * 1024;
// Larger unexpected messages are refused.
constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 39;

tcp::SharedConnection& shared_read(const tcp::Wire& wire) {
    return static_cast<tcp::SharedConnection&>(*wire.link);
}

// More of the lane's last unexpected message is to come.
bool has_more_to_come(const ReceiveLane& lane) {
    if (lane.unexpected.empty()) return false;
    const Unexpected& last = *lane.unexpected.last;
    return last.is_rts || last.offset < last.bytes;
}

}  // namespace

Posted TcpTransport::post_recv(const Lane& lane, MutBytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    if (DedicatedConnection* dedicated = dedicated_of(peer, lane.stream))
        return receive_on(*dedicated, data, token);
    SharedConnection& shared = shared_of(peer, lane.stream);
    ReceiveLane& queue = shared.receives.find(lane.stream.packed());
    if (!queue.unexpected.empty()) return receive_unexpected(shared, queue, data, token);
    if (peer.lost) return refuse(peer, lane, token);
    Post* post = posts_.take();
    *post = {.data = data.data(), .bytes = data.size(), .token = token};
    queue.posts.append(post);
    // Receives of failure notices are posted for every rank, and need no connection.
    if (lane.stream.context == 0) return Posted::pending;
    expect(shared);
    need(shared);
    if (data.size() >= settings_.eager_threshold) grant_cts(shared, queue, *post);
    return Posted::pending;
}

// The lane's next message is here, wholly or in part, or its RTS is.
Posted TcpTransport::receive_unexpected(SharedConnection& shared, ReceiveLane& lane, MutBytes data,
                                        Token token) {
    Unexpected* message = lane.unexpected.take_first();
    const bool fits = message->bytes == data.size();
    if (fits && message->offset > 0) memcpy(data.data(), message->data, message->offset);
    const std::uint64_t sent_bytes = message->bytes;
    const std::uint64_t offset = message->offset;
    const bool was_rts = message->is_rts;
    const bool is_complete = !was_rts && offset == sent_bytes;
    if (is_complete && fits && !reports_.has_kept()) {
        release(shared, message);
        return Posted::done;
    }
    Post* post = posts_.take();
    *post = {
        .data = data.data(), .bytes = data.size(), .offset = fits ? offset : 0, .token = token};
    lane.posts.append(post);  // the only one
    if (context_of(lane.stream) != 0) expect(shared);
    if (!fits) turn_away(shared, lane, sent_bytes);
    post->offset = offset;
    if (Wire* wire = wire_into(message)) {
        wire->unexpected = nullptr;
        wire->post = post;
    }
    if (is_complete) end_message(shared, lane);
    release(shared, message);
    if (was_rts) grant_cts(shared, lane, *post);
    return Posted::pending;
}

// Grants the message of this receive a CTS; once. A message uses the lane's first CTS, even one
// that was granted to a later message: that one then uses this one's.
void TcpTransport::grant_cts(SharedConnection& shared, ReceiveLane& lane, Post& post) {
    if (!std::exchange(post.has_cts, true)) send_cts(shared, lane);
}

void TcpTransport::send_cts(SharedConnection& shared, ReceiveLane& lane) {
    if (lane.spare_cts > 0)
        --lane.spare_cts;
    else
        control(shared, FrameKind::cts, lane.stream, 0);
}

// Reports the lane's first receive as broken: it cannot take the message of `sent_bytes` it met.
// The message is dropped as it comes.
void TcpTransport::turn_away(SharedConnection& shared, ReceiveLane& lane,
                             std::uint64_t sent_bytes) {
    Post& post = *lane.posts.first;
    reports_.add({.token = post.token,
                  .code = WEFT_BROKEN_MESSAGE,
                  .peer = shared.peer.rank,
                  .sent_bytes = static_cast<std::int64_t>(sent_bytes),
                  .expected_bytes = static_cast<std::int64_t>(post.bytes)},
                 lane.stream);
    if (context_of(lane.stream) != 0) expect_less(shared);
    post.is_ghost = true;
    post.data = nullptr;
    post.bytes = sent_bytes;
}

// All of the message of the lane's first receive has come.
void TcpTransport::end_message(SharedConnection& shared, ReceiveLane& lane) {
    Post* post = lane.posts.take_first();
    if (!post->is_ghost) {
        reports_.add({.token = post->token, .code = WEFT_OK, .peer = shared.peer.rank},
                     lane.stream);
        if (context_of(lane.stream) != 0) expect_less(shared);
    }
    posts_.give_back(post);
}

// Reads what is there, a bounded amount. The wire may be closed afterwards.
void TcpTransport::read(Wire& wire) {
    if (wire.link->is_dedicated())
        read_places(wire);
    else
        read_frames(wire);
    // SO_RCVLOWAT must not exceed what is left of the frame.
    if (static_cast<std::uint64_t>(wire.wake_bytes) > std::max<std::uint64_t>(wire.left, 1))
        sleep_until_worthwhile(wire);
}

void TcpTransport::read_frames(Wire& wire) {
    for (std::size_t total = 0; total < read_bytes_max && wire.state != Wire::State::closed;) {
        std::byte* into = nullptr;
        if (wire.post != nullptr && wire.post->data != nullptr)
            into = wire.post->data + wire.post->offset;
        if (wire.unexpected != nullptr) into = wire.unexpected->data + wire.unexpected->offset;
        // Large payload goes where it belongs, together with the header behind it.
        const bool direct = into != nullptr && wire.left > unknown_bytes_max;
        iovec pieces[2] = {{into, wire.left}, {wire.header.data(), Frame::header_bytes}};
        if (!direct) {
            const bool is_dropped = wire.left > 0 && into == nullptr;
            pieces[0] = {staging_.data(), is_dropped ? staging_.size() : unknown_bytes_max};
        }
        const std::size_t wanted =
            pieces[0].iov_len + (direct ? std::size_t{Frame::header_bytes} : 0);
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = direct ? 2 : 1;
        const ssize_t n = recvmsg(wire.fd.get(), &message, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return fail(wire, n < 0 ? errno : 0);
        const auto bytes = static_cast<std::size_t>(n);
        total += bytes;
        bool is_good = true;
        if (direct) {
            const std::size_t payload = std::min<std::size_t>(bytes, wire.left);
            advance(wire, payload);
            wire.header_bytes = bytes - payload;
            if (wire.header_bytes == Frame::header_bytes) is_good = take_frame(wire);
        } else {
            is_good = take_bytes(wire, {staging_.data(), bytes});
        }
        if (!is_good) return fail(wire, EPROTO);
        if (bytes < wanted) return;
    }
}

// False: no peer would send them.
bool TcpTransport::take_bytes(Wire& wire, Bytes bytes) {
    while (!bytes.empty() && wire.state != Wire::State::closed) {
        if (wire.left > 0) {
            const std::size_t n = std::min<std::size_t>(bytes.size(), wire.left);
            if (wire.post != nullptr && wire.post->data != nullptr)
                memcpy(wire.post->data + wire.post->offset, bytes.data(), n);
            if (wire.unexpected != nullptr)
                memcpy(wire.unexpected->data + wire.unexpected->offset, bytes.data(), n);
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

void TcpTransport::advance(Wire& wire, std::uint64_t bytes) {
    wire.left -= bytes;
    if (wire.post != nullptr) wire.post->offset += bytes;
    if (wire.unexpected != nullptr) wire.unexpected->offset += bytes;
    if (wire.left == 0) end_payload(wire);
}

void TcpTransport::end_payload(Wire& wire) {
    Post* post = wire.post;
    wire.post = nullptr;
    wire.unexpected = nullptr;
    if (post != nullptr && post->offset == post->bytes)
        end_message(shared_read(wire), shared_read(wire).receives.find(wire.frame.stream));
}

// A header has been read. False: no peer would send it here.
bool TcpTransport::take_frame(Wire& wire) {
    wire.header_bytes = 0;
    wire.frame = Frame::decoded(wire.header);
    const Frame& frame = wire.frame;
    if (frame.sequence != wire.next_sequence++) return false;
    if (wire.state == Wire::State::unanswered) {
        if (frame.kind == FrameKind::full) {
            refused_by(wire, frame);
            return true;
        }
        if (frame.kind != FrameKind::welcome) return false;
        take_up(wire, *wire.link);
        return true;
    }
    SharedConnection& shared = shared_read(wire);
    if (shared.in != &wire) return false;
    switch (frame.kind) {
        case FrameKind::eager:
        case FrameKind::part: return take_payload_frame(wire);
        case FrameKind::rts: return take_rts(shared, frame);
        case FrameKind::cts:
            take_cts(shared, frame.stream);
            go_on(shared);
            return true;
        case FrameKind::credit: shared.credit.regain(frame.bytes); return true;
        case FrameKind::bye:
            shared.has_left = true;
            part_from(shared.peer);
            return true;
        case FrameKind::welcome:
        case FrameKind::full: break;
    }
    return false;
}

bool TcpTransport::take_payload_frame(Wire& wire) {
    SharedConnection& shared = shared_read(wire);
    const Frame& frame = wire.frame;
    const bool is_eager = frame.kind == FrameKind::eager;
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    ReceiveLane* lane = is_wanted ? &shared.receives.find(frame.stream)
                                  : shared.receives.find_existing(frame.stream);
    std::uint64_t credit = is_eager ? Credit::cost_of(frame.bytes) : 0;
    if (lane != nullptr && !lane->posts.empty()) {
        Post& first = *lane->posts.first;
        if (first.offset == 0) {
            if (!is_eager) grant_cts(shared, *lane, first);
            if (is_eager && first.has_cts) ++lane->spare_cts;
            if (!first.is_ghost && first.bytes != frame.bytes)
                turn_away(shared, *lane, frame.bytes);
        }
        wire.post = &first;
        if (wire.post->bytes - wire.post->offset != frame.bytes) return false;
    } else if (lane != nullptr && has_more_to_come(*lane)) {
        Unexpected& last = *lane->unexpected.last;
        if (last.bytes - last.offset != frame.bytes) return false;
        if (!last.is_rts || use_spare_cts(*lane)) {
            if (std::exchange(last.is_rts, false) && !make_room(last)) return false;
            wire.unexpected = &last;
        }
    } else if (is_wanted && (is_eager || use_spare_cts(*lane))) {
        if (credit > Credit::max_among(peers_.size())) return false;
        wire.unexpected = keep_unexpected(*lane, frame);
        if (wire.unexpected == nullptr) return false;
        wire.unexpected->credit = std::exchange(credit, 0);
    }
    wire.left = frame.payload_bytes();
    if (wire.left == 0) end_payload(wire);
    pay_credit(shared, credit);
    return true;
}

bool TcpTransport::take_rts(SharedConnection& shared, const Frame& frame) {
    const bool is_wanted = contexts_.wants(context_of(frame.stream));
    ReceiveLane* lane = is_wanted ? &shared.receives.find(frame.stream)
                                  : shared.receives.find_existing(frame.stream);
    if (lane != nullptr && !lane->posts.empty()) {
        Post& first = *lane->posts.first;
        if (first.offset > 0 || first.is_ghost) return false;
        if (first.bytes != frame.bytes) turn_away(shared, *lane, frame.bytes);
        grant_cts(shared, *lane, first);
    } else if (lane != nullptr && has_more_to_come(*lane)) {
        return false;
    } else if (is_wanted) {
        Unexpected* message = unexpected_.take();
        *message = {.bytes = frame.bytes, .is_rts = true};
        lane->unexpected.append(message);
    } else {
        // Nobody will take it, but its sender must not wait forever.
        control(shared, FrameKind::cts, frame.stream, 0);
    }
    return true;
}

// For a message that comes in parts before its receive is posted: it has used a CTS that was
// granted to another. False: there is none; the receive it was granted to has been abandoned.
bool TcpTransport::use_spare_cts(ReceiveLane& lane) {
    if (lane.spare_cts == 0) return false;
    --lane.spare_cts;
    return true;
}

// Null: there is no memory for it.
Unexpected* TcpTransport::keep_unexpected(ReceiveLane& lane, const Frame& frame) {
    Unexpected* message = unexpected_.take();
    *message = {.bytes = frame.bytes};
    lane.unexpected.append(message);
    return make_room(*message) ? message : nullptr;
}

bool TcpTransport::make_room(Unexpected& message) {
    if (message.bytes > 0) {
        if (message.bytes <= message_bytes_max) message.data = blocks_.try_take(message.bytes);
        if (message.data == nullptr) return false;
    }
    counters_.unexpected_bytes += message.bytes;
    counters_.unexpected_bytes_max =
        std::max(counters_.unexpected_bytes_max, counters_.unexpected_bytes);
    return true;
}

// The wire that is reading it.
tcp::Wire* TcpTransport::wire_into(const Unexpected* message) const {
    if (message->is_rts || message->offset == message->bytes) return nullptr;
    const auto place =
        std::ranges::find_if(wires_, [&](const auto& wire) { return wire->unexpected == message; });
    return place == wires_.end() ? nullptr : place->get();
}

void TcpTransport::release(SharedConnection& shared, Unexpected* message) {
    if (Wire* wire = wire_into(message)) wire->unexpected = nullptr;
    if (message->data != nullptr) {
        blocks_.give_back(message->data, message->bytes);
        counters_.unexpected_bytes -= message->bytes;
    }
    pay_credit(shared, message->credit);
    unexpected_.give_back(message);
}

void TcpTransport::pay_credit(SharedConnection& shared, std::uint64_t credit) {
    if (const std::uint64_t due = shared.credit.give_back(credit); due > 0)
        control(shared, FrameKind::credit, 0, due);
}

void TcpTransport::abandon_receives(SharedConnection& shared, std::uint32_t context) {
    shared.receives.for_each([&](ReceiveLane& lane) {
        if (context_of(lane.stream) != context) return;
        while (!lane.posts.empty()) {
            Post* post = lane.posts.take_first();
            for (const auto& wire : wires_) {
                if (wire->post == post) wire->post = nullptr;
            }
            if (!post->is_ghost && context != 0) expect_less(shared);
            posts_.give_back(post);
        }
    });
    drop_unwanted_messages(shared);
}

// An RTS is answered all the same: its sender must not wait forever.
void TcpTransport::drop_unwanted_messages(SharedConnection& shared) {
    shared.receives.for_each([&](ReceiveLane& lane) {
        if (contexts_.wants(context_of(lane.stream))) return;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            if (message->is_rts) control(shared, FrameKind::cts, lane.stream, 0);
            release(shared, message);
        }
    });
}

}  // namespace weft
