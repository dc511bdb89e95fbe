// Sending: which message is next, and frames into the socket.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Post;
using tcp::SendLane;

namespace {

constexpr std::uint64_t write_bytes_max = 1 << 20;  // in one go

bool is_notice(std::uint64_t stream) { return context_of(stream) == 0; }

}  // namespace

// Messages below the eager threshold, while the receiver's unexpected messages stay bounded; and
// failure notices, which must arrive before what they explain.
bool TcpTransport::may_send_eagerly(const SharedConnection& shared, std::uint64_t stream,
                                    std::uint64_t bytes) const {
    if (is_notice(stream)) return true;
    return bytes < settings_.eager_threshold && shared.credit.covers(bytes);
}

Posted TcpTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    if (peer.lost) [[unlikely]]
        return refuse(peer, lane, token);
    if (DedicatedConnection* dedicated = dedicated_of(peer, lane.stream))
        return send_on(*dedicated, data, token);
    SharedConnection& shared = shared_of(peer, lane.stream);
    const std::uint64_t stream = lane.stream.packed();
    SendLane& queue = shared.sends.find(stream);
    // With completions that are kept, `done` might overtake one of this lane.
    const bool at_once = shared.out != nullptr && queue.posts.empty() && !shared.is_writing() &&
                         shared.controls.size() < shared.frames_max && shared.ready.empty() &&
                         !reports_.has_kept() && may_send_eagerly(shared, stream, data.size());
    if (at_once) {
        shared.credit.spend(data.size());
        put_controls(shared);
        put_frame(shared, {FrameKind::eager, 0, data.size(), stream});
        shared.payload = data.data();
        write(shared);
        if (!shared.is_writing() && !peer.lost) return Posted::done;
        if (peer.lost) return refuse(peer, lane, token);
    }

    Post* post = posts_.take();
    *post = {.data = const_cast<std::byte*>(data.data()), .bytes = data.size(), .token = token};
    queue.posts.append(post);
    if (!is_notice(stream)) expect(shared);
    if (at_once) {
        queue.front = SendLane::Front::ready;
        queue.front_is_eager = true;
        shared.writing = stream;
        return Posted::pending;
    }
    need(shared);
    prepare_front(shared, queue);
    put_off(shared);
    return Posted::pending;
}

// If the lane has a new first message: makes it ready, or sends its RTS.
void TcpTransport::prepare_front(SharedConnection& shared, SendLane& lane) {
    if (lane.front != SendLane::Front::none || lane.posts.empty()) return;
    const Post& post = *lane.posts.first;
    lane.front_is_eager = may_send_eagerly(shared, lane.stream, post.bytes);
    if (lane.front_is_eager) {
        // Already now: several lanes may have one ready.
        shared.credit.spend(post.bytes);
    } else if (lane.early_cts > 0) {
        --lane.early_cts;
    } else {
        lane.front = SendLane::Front::waiting;
        shared.controls.push({FrameKind::rts, 0, post.bytes, lane.stream});
        return;
    }
    lane.front = SendLane::Front::ready;
    shared.ready.push(lane.stream);
}

void TcpTransport::take_cts(SharedConnection& shared, std::uint64_t stream) {
    if (!contexts_.wants(context_of(stream))) return;
    SendLane& lane = shared.sends.find(stream);
    if (lane.front == SendLane::Front::waiting) {
        lane.front = SendLane::Front::ready;
        shared.ready.push(stream);
    } else {
        ++lane.early_cts;
    }
}

void TcpTransport::control(SharedConnection& shared, FrameKind kind, std::uint64_t stream,
                           std::uint64_t bytes) {
    if (shared.peer.lost) return;
    shared.controls.push({kind, 0, bytes, stream});
    put_off(shared);
}

// Sends several frames in one packet: each packet may wake somebody.
void TcpTransport::put_off(SharedConnection& shared) {
    note_owing(shared);
    if (std::exchange(shared.is_put_off, true)) return;
    put_off_.push_back(&shared);
}

void TcpTransport::write_put_off() {
    for (std::size_t i = 0; i < put_off_.size(); ++i) {
        put_off_[i]->is_put_off = false;
        go_on(*put_off_[i]);
    }
    put_off_.clear();
}

void TcpTransport::put_frame(SharedConnection& shared, Frame frame) {
    frame.sequence = shared.next_sequence++;
    const Frame::Header header = frame.encoded();
    std::ranges::copy(header, shared.head.begin() + static_cast<long>(shared.head_bytes));
    shared.head_bytes += header.size();
    shared.head_left += header.size();
    shared.payload_left = shared.writing_bytes = frame.payload_bytes();
}

// As many as there is room for, leaving room for one more frame.
void TcpTransport::put_controls(SharedConnection& shared) {
    shared.head_bytes = 0;
    shared.writing.reset();
    for (; !shared.controls.empty(); shared.controls.pop()) {
        if (shared.head_bytes + 2 * Frame::header_bytes > shared.head.size()) return;
        put_frame(shared, shared.controls.front());
    }
}

// Chooses what is written next. False: there is nothing.
bool TcpTransport::begin_frame(SharedConnection& shared) {
    put_controls(shared);
    if (shared.ready.empty()) return shared.head_left > 0;
    const std::uint64_t stream = shared.ready.front();
    shared.ready.pop();
    const SendLane& lane = shared.sends.find(stream);
    const Post& post = *lane.posts.first;
    put_frame(shared, {lane.front_is_eager ? FrameKind::eager : FrameKind::part, 0,
                       post.bytes - post.offset, stream});
    shared.payload = post.data == nullptr ? nullptr : post.data + post.offset;
    shared.writing = stream;
    return true;
}

void TcpTransport::end_frame(SharedConnection& shared) {
    shared.orphan.clear();
    if (!shared.writing) return;
    const std::uint64_t stream = *shared.writing;
    shared.writing.reset();
    SendLane& lane = shared.sends.find(stream);
    Post& post = *lane.posts.first;
    post.offset += shared.writing_bytes;
    if (post.offset < post.bytes) {
        shared.ready.push(stream);
        return;
    }
    lane.posts.take_first();
    lane.front = SendLane::Front::none;
    reports_.add({.token = post.token, .code = WEFT_OK, .peer = shared.peer.rank}, stream);
    posts_.give_back(&post);
    if (!is_notice(stream)) expect_less(shared);
    prepare_front(shared, lane);
}

// Writes what is queued, a bounded amount.
void TcpTransport::write(SharedConnection& shared) {
    if (shared.out != nullptr && shared.out->write_error == 0) write_frames(shared);
    note_owing(shared);
}

// The same, if the socket has not said that it is full.
void TcpTransport::go_on(SharedConnection& shared) {
    if (shared.out != nullptr && (shared.out->watched & EPOLLOUT) == 0) return write(shared);
    note_owing(shared);
}

void TcpTransport::note_owing(Link& link) {
    if (owes(link) == link.is_counted) return;
    link.is_counted = !link.is_counted;
    owing_ += link.is_counted ? 1 : -1;
}

void TcpTransport::write_frames(SharedConnection& shared) {
    tcp::Wire& wire = *shared.out;
    for (std::uint64_t written = 0; written < write_bytes_max;) {
        if (!shared.is_writing() && !begin_frame(shared)) return watch_out(wire, false);
        iovec pieces[2] = {
            {shared.head.data() + shared.head_bytes - shared.head_left, shared.head_left},
            {const_cast<std::byte*>(shared.payload), shared.payload_left},
        };
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = shared.payload_left > 0 ? 2 : 1;
        const ssize_t n = sendmsg(wire.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
                return watch_out(wire, true);
            // What the peer sent before is read first; then reading fails.
            wire.write_error = errno;
            (void)shutdown(wire.fd.get(), SHUT_RDWR);
            return watch_out(wire, false);
        }
        auto bytes = static_cast<std::uint64_t>(n);
        written += bytes;
        const std::uint64_t of_head = std::min<std::uint64_t>(bytes, shared.head_left);
        shared.head_left -= of_head;
        bytes -= of_head;
        shared.payload_left -= bytes;
        if (bytes > 0) shared.payload += bytes;
        if (shared.is_writing()) return watch_out(wire, true);
        end_frame(shared);
    }
    watch_out(wire, shared.owes());
}

void TcpTransport::abandon_sends(SharedConnection& shared, std::uint32_t context) {
    auto is_of_context = [&](std::uint64_t stream) { return context_of(stream) == context; };
    shared.sends.for_each([&](const SendLane& lane) {
        // It was counted when it became ready, and will never be written.
        if (is_of_context(lane.stream) && lane.front == SendLane::Front::ready &&
            lane.front_is_eager && shared.writing != lane.stream)
            shared.credit.regain(Credit::cost_of(lane.posts.first->bytes));
    });
    shared.ready.remove_if(is_of_context);
    shared.controls.remove_if([&](const Frame& frame) {
        return frame.kind == FrameKind::rts && is_of_context(frame.stream);
    });
    if (shared.writing && is_of_context(*shared.writing)) {
        // The frame has begun and must be completed with its bytes.
        shared.orphan.assign(shared.payload, shared.payload + shared.payload_left);
        shared.payload = shared.orphan.data();
        shared.writing.reset();
    }
    shared.sends.for_each([&](SendLane& lane) {
        if (!is_of_context(lane.stream)) return;
        while (!lane.posts.empty()) {
            posts_.give_back(lane.posts.take_first());
            if (!is_notice(lane.stream)) expect_less(shared);
        }
        lane.front = SendLane::Front::none;
        lane.early_cts = 0;
    });
    note_owing(shared);
}

}  // namespace weft
