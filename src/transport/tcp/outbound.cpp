// Sending: which message may go, and frames into the socket.
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

constexpr std::uint64_t write_bytes_max = 1 << 20;  // in one go; the rest is for who is woken

bool is_news(std::uint64_t stream) { return StreamId::unpack(stream).context == 0; }

}  // namespace

// Messages below the eager threshold, while the receiver's unexpected messages stay bounded; and the
// executors' news, which must arrive before what they explain.
bool TcpTransport::may_send_eagerly(const Channel& channel, std::uint64_t stream,
                                    std::uint64_t bytes) const {
    if (is_news(stream)) return true;
    return bytes < settings_.eager_threshold &&
           channel.credit_used + credit_of(bytes) <= credit_max_;
}

Posted TcpTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    if (peer.lost) [[unlikely]]
        return refuse(peer, lane, token);
    if (Strand* strand = strand_of(peer, lane.stream)) return send_on(*strand, data, token);
    Channel& channel = channel_of(peer, lane.stream);
    const std::uint64_t stream = lane.stream.packed();
    SendLane& queue = channel.sends.find(stream);
    // With completions waiting in the backlog, `done` might overtake one of this lane.
    const bool at_once = channel.out != nullptr && queue.posts.empty() && !channel.is_writing() &&
                         channel.controls.size() < channel.frames_max && channel.ready.empty() &&
                         backlog_.empty() && may_send_eagerly(channel, stream, data.size());
    if (at_once) {
        channel.credit_used += credit_of(data.size());
        put_controls(channel);
        put_frame(channel, {FrameKind::eager, 0, data.size(), stream});
        channel.payload = data.data();
        write(channel);
        if (!channel.is_writing() && !peer.lost) return Posted::done;
        if (peer.lost) return refuse(peer, lane, token);
    }

    Post* post = posts_.take();
    *post = {.data = const_cast<std::byte*>(data.data()), .bytes = data.size(), .token = token};
    queue.posts.append(post);
    if (!is_news(stream)) expect(channel);
    if (at_once) {
        queue.front = SendLane::Front::ready;
        queue.front_is_eager = true;
        channel.writing = stream;
        return Posted::pending;
    }
    need(channel);
    prepare_front(channel, queue);
    put_off(channel);
    return Posted::pending;
}

// Makes the lane's first message ready, or sends its RTS; if it is new there.
void TcpTransport::prepare_front(Channel& channel, SendLane& lane) {
    if (lane.front != SendLane::Front::none || lane.posts.empty()) return;
    const Post& post = *lane.posts.first;
    lane.front_is_eager = may_send_eagerly(channel, lane.stream, post.bytes);
    if (lane.front_is_eager) {
        // Before it is written: several lanes may have one ready.
        channel.credit_used += credit_of(post.bytes);
    } else if (lane.early_cts > 0) {
        --lane.early_cts;
    } else {
        lane.front = SendLane::Front::waiting;
        channel.controls.push({FrameKind::rts, 0, post.bytes, lane.stream});
        return;
    }
    lane.front = SendLane::Front::ready;
    channel.ready.push(lane.stream);
}

void TcpTransport::take_cts(Channel& channel, std::uint64_t stream) {
    if (!contexts_.wants(StreamId::unpack(stream).context)) return;
    SendLane& lane = channel.sends.find(stream);
    if (lane.front == SendLane::Front::waiting) {
        lane.front = SendLane::Front::ready;
        channel.ready.push(stream);
    } else {
        ++lane.early_cts;
    }
}

void TcpTransport::control(Channel& channel, FrameKind kind, std::uint64_t stream,
                           std::uint64_t bytes) {
    if (channel.peer.lost) return;
    channel.controls.push({kind, 0, bytes, stream});
    put_off(channel);
}

// Several frames are better sent together: each packet may wake somebody.
void TcpTransport::put_off(Channel& channel) {
    note_owing(channel);
    if (std::exchange(channel.is_put_off, true)) return;
    put_off_.push_back(&channel);
}

void TcpTransport::write_put_off() {
    for (std::size_t i = 0; i < put_off_.size(); ++i) {
        put_off_[i]->is_put_off = false;
        go_on(*put_off_[i]);
    }
    put_off_.clear();
}

void TcpTransport::put_frame(Channel& channel, Frame frame) {
    frame.sequence = channel.next_sequence++;
    const Frame::Header header = frame.encoded();
    std::ranges::copy(header, channel.head.begin() + static_cast<long>(channel.head_bytes));
    channel.head_bytes += header.size();
    channel.head_left += header.size();
    channel.payload_left = channel.writing_bytes = frame.payload_bytes();
}

// As many as there is room for, and for one more frame.
void TcpTransport::put_controls(Channel& channel) {
    channel.head_bytes = 0;
    channel.writing.reset();
    for (; !channel.controls.empty(); channel.controls.pop()) {
        if (channel.head_bytes + 2 * Frame::header_bytes > channel.head.size()) return;
        put_frame(channel, channel.controls.front());
    }
}

// Chooses what is written next. False: there is nothing.
bool TcpTransport::begin_frame(Channel& channel) {
    put_controls(channel);
    if (channel.ready.empty()) return channel.head_left > 0;
    const std::uint64_t stream = channel.ready.front();
    channel.ready.pop();
    const SendLane& lane = channel.sends.find(stream);
    const Post& post = *lane.posts.first;
    put_frame(channel, {lane.front_is_eager ? FrameKind::eager : FrameKind::part, 0,
                        post.bytes - post.offset, stream});
    channel.payload = post.data == nullptr ? nullptr : post.data + post.offset;
    channel.writing = stream;
    return true;
}

void TcpTransport::end_frame(Channel& channel) {
    channel.orphan.clear();
    if (!channel.writing) return;
    const std::uint64_t stream = *channel.writing;
    channel.writing.reset();
    SendLane& lane = channel.sends.find(stream);
    Post& post = *lane.posts.first;
    post.offset += channel.writing_bytes;
    if (post.offset < post.bytes) {
        channel.ready.push(stream);
        return;
    }
    lane.posts.take_first();
    lane.front = SendLane::Front::none;
    report({.token = post.token, .code = WEFT_OK, .peer = channel.peer.rank}, stream);
    posts_.give_back(&post);
    if (!is_news(stream)) expect_less(channel);
    prepare_front(channel, lane);
}

// Writes what is to be written, a bounded amount.
void TcpTransport::write(Channel& channel) {
    if (channel.out != nullptr && channel.out->write_error == 0) write_frames(channel);
    note_owing(channel);
}

// The same, if the socket has not said that it is full.
void TcpTransport::go_on(Channel& channel) {
    if (channel.out != nullptr && (channel.out->watched & EPOLLOUT) == 0) return write(channel);
    note_owing(channel);
}

void TcpTransport::note_owing(Link& link) {
    if (owes(link) == link.is_counted) return;
    link.is_counted = !link.is_counted;
    owing_ += link.is_counted ? 1 : -1;
}

void TcpTransport::write_frames(Channel& channel) {
    tcp::Wire& wire = *channel.out;
    for (std::uint64_t written = 0; written < write_bytes_max;) {
        if (!channel.is_writing() && !begin_frame(channel)) return watch_out(wire, false);
        iovec pieces[2] = {
            {channel.head.data() + channel.head_bytes - channel.head_left, channel.head_left},
            {const_cast<std::byte*>(channel.payload), channel.payload_left},
        };
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = channel.payload_left > 0 ? 2 : 1;
        const ssize_t n = sendmsg(wire.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
                return watch_out(wire, true);
            // What the peer has sent before is read first; then the wire fails there.
            wire.write_error = errno;
            (void)shutdown(wire.fd.get(), SHUT_RDWR);
            return watch_out(wire, false);
        }
        auto bytes = static_cast<std::uint64_t>(n);
        written += bytes;
        const std::uint64_t of_head = std::min<std::uint64_t>(bytes, channel.head_left);
        channel.head_left -= of_head;
        bytes -= of_head;
        channel.payload_left -= bytes;
        if (bytes > 0) channel.payload += bytes;
        if (channel.is_writing()) return watch_out(wire, true);
        end_frame(channel);
    }
    watch_out(wire, channel.owes());
}

void TcpTransport::abandon_sends(Channel& channel, std::uint32_t context) {
    auto is_of_context = [&](std::uint64_t stream) {
        return StreamId::unpack(stream).context == context;
    };
    channel.sends.for_each([&](const SendLane& lane) {
        // It was to be written, and never will.
        if (is_of_context(lane.stream) && lane.front == SendLane::Front::ready &&
            lane.front_is_eager && channel.writing != lane.stream)
            channel.credit_used -= credit_of(lane.posts.first->bytes);
    });
    channel.ready.remove_if(is_of_context);
    channel.controls.remove_if([&](const Frame& frame) {
        return frame.kind == FrameKind::rts && is_of_context(frame.stream);
    });
    if (channel.writing && is_of_context(*channel.writing)) {
        // The frame has begun and must end with the bytes that belong there.
        channel.orphan.assign(channel.payload, channel.payload + channel.payload_left);
        channel.payload = channel.orphan.data();
        channel.writing.reset();
    }
    channel.sends.for_each([&](SendLane& lane) {
        if (!is_of_context(lane.stream)) return;
        while (!lane.posts.empty()) {
            posts_.give_back(lane.posts.take_first());
            if (!is_news(lane.stream)) expect_less(channel);
        }
        lane.front = SendLane::Front::none;
        lane.early_cts = 0;
    });
    note_owing(channel);
}

}  // namespace weft
