// Sending on a shared connection: which message is next, and frames into the socket.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>

#include "transport/tcp/shared_connection.h"

namespace weft::tcp {

bool SharedConnection::may_send_eagerly(std::uint64_t stream, std::uint64_t bytes) const {
    return is_eager(stream, bytes, core_.settings.eager_threshold, credit_);
}

Posted SharedConnection::send(StreamId stream, Bytes data, Token token) {
    const std::uint64_t packed = stream.packed();
    SendLane& lane = reserve_send(packed);
    core_.posts.reserve(packed);
    // With completions that are kept, `done` might overtake one of this lane.
    const bool at_once = out != nullptr && lane.posts.empty() && !is_writing() &&
                         controls_.size() < frames_max && cleared_.empty() &&
                         !core_.reports.has_kept() && may_send_eagerly(packed, data.size());
    if (at_once) {
        credit_.spend(data.size());
        put_controls();
        put_frame({FrameKind::eager, 0, data.size(), packed});
        payload_ = data.data();
        write();
        if (!is_writing()) return Posted::done;
    }
    Post& post = take_post(packed, const_cast<std::byte*>(data.data()), data.size(), token);
    if (at_once) {
        append(lane, post);
        lane.front = SendLane::Front::cleared;
        lane.front_is_eager = true;
        writing_ = packed;
        return Posted::pending;
    }
    send(stream, post);
    return Posted::pending;
}

void SharedConnection::send(StreamId stream, Post& post) {
    SendLane& lane = sends_.find(stream.packed());
    append(lane, post);
    core_.need(*this);
    prepare_front(lane);
    put_off();
}

// The lane; and room to queue a send on it.
SendLane& SharedConnection::reserve_send(std::uint64_t stream) {
    SendLane& lane = sends_.find(stream);
    if (is_notice(stream)) return lane;  // (The last room is for these, and they have no RTS.)
    cleared_.reserve(sends_.size() + 1);
    controls_.reserve(controls_.size() + 1);
    return lane;
}

void SharedConnection::append(SendLane& lane, Post& post) {
    lane.append_waiting(&post);
    if (!is_notice(lane.stream)) core_.expect(*this);
}

// If the lane has a new first message: makes it ready, or sends its RTS.
void SharedConnection::prepare_front(SendLane& lane) {
    if (lane.front != SendLane::Front::none || lane.waiting == nullptr) return;
    const Post& post = *lane.waiting;
    const bool is_cut =
        !post.is_first() || peer.cuts(StreamId::unpack(lane.stream), post.message_bytes);
    lane.front_is_eager = !is_cut && may_send_eagerly(lane.stream, post.bytes);
    if (lane.front_is_eager) {
        // Already now: several lanes may have one ready.
        credit_.spend(post.bytes);
    } else {
        const bool has_cts = lane.early_cts > 0;
        // (The RTS of a first piece is one for all.)
        if (post.is_first() && (is_cut || !has_cts)) {
            if (!has_room_for_control()) return core_.posts.lose_message(peer.rank, lane.stream);
            controls_.push({FrameKind::rts, 0, post.message_bytes, lane.stream});
        }
        if (!has_cts) {
            lane.front = SendLane::Front::awaiting_cts;
            return;
        }
        --lane.early_cts;
    }
    lane.front = SendLane::Front::cleared;
    cleared_.push(lane.stream);
}

void SharedConnection::take_cts(std::uint64_t stream) {
    if (!core_.contexts.wants(context_of(stream))) return;
    SendLane* lane = sends_.try_find(stream);
    if (lane == nullptr) return core_.posts.lose_message(peer.rank, stream);
    if (lane->front == SendLane::Front::awaiting_cts) {
        lane->front = SendLane::Front::cleared;
        cleared_.push(stream);
    } else {
        ++lane->early_cts;
    }
}

// False: there is no memory for it.
bool SharedConnection::control(FrameKind kind, std::uint64_t stream, std::uint64_t bytes) {
    if (peer.lost) return true;
    if (!has_room_for_control()) return false;
    controls_.push({kind, 0, bytes, stream});
    put_off();
    return true;
}

bool SharedConnection::has_room_for_control() {
    try {
        controls_.reserve(controls_.size() + 1);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Sends several frames in one packet: each packet may wake a thread.
void SharedConnection::put_off() {
    core_.note_owing(*this);
    if (std::exchange(is_put_off_, true)) return;
    core_.put_off.push_back(this);
}

void SharedConnection::write_put_off() {
    is_put_off_ = false;
    go_on();
}

void SharedConnection::put_frame(Frame frame) {
    frame.sequence = next_sequence_++;
    const Frame::Header header = frame.encoded();
    std::ranges::copy(header, head_.begin() + static_cast<long>(head_bytes_));
    head_bytes_ += header.size();
    head_left_ += header.size();
    payload_left_ = writing_bytes_ = frame.payload_bytes();
}

// As many as there is room for, leaving room for one more frame.
void SharedConnection::put_controls() {
    head_bytes_ = 0;
    writing_.reset();
    for (; !controls_.empty(); controls_.pop()) {
        if (head_bytes_ + 2 * Frame::header_bytes > head_.size()) return;
        put_frame(controls_.front());
    }
}

// Chooses the next frames to write. False: there are none.
bool SharedConnection::begin_frame() {
    put_controls();
    // (An RTS goes before its message.)
    if (cleared_.empty() || !controls_.empty()) return head_left_ > 0;
    const std::uint64_t stream = cleared_.front();
    cleared_.pop();
    const SendLane& lane = sends_.find(stream);
    const Post& post = *lane.waiting;
    put_frame({lane.front_is_eager ? FrameKind::eager : FrameKind::data, 0, post.bytes - post.moved,
               stream});
    payload_ = post.data == nullptr ? nullptr : post.data + post.moved;
    writing_ = stream;
    return true;
}

void SharedConnection::end_frame() {
    drop_payload();
    if (!writing_) return;
    const std::uint64_t stream = *writing_;
    writing_.reset();
    SendLane& lane = sends_.find(stream);
    Post& post = *lane.waiting;
    post.moved += writing_bytes_;
    if (post.moved < post.bytes) {
        cleared_.push(stream);
        return;
    }
    lane.waiting = post.next;
    lane.front = SendLane::Front::none;
    end(lane, post, {});
    prepare_front(lane);
}

// Writes queued frames, a bounded amount.
void SharedConnection::write() {
    if (out != nullptr && out->write_error == 0) write_frames();
    core_.note_owing(*this);
}

// The same, if the socket has not said that it is full.
void SharedConnection::go_on() {
    if (out != nullptr && (out->watched & EPOLLOUT) == 0) return write();
    core_.note_owing(*this);
}

// Writes as much of the frame as the socket takes. Returns as Wire::write().
ssize_t SharedConnection::write_frame() {
    iovec pieces[2] = {
        {head_.data() + head_bytes_ - head_left_, head_left_},
        {const_cast<std::byte*>(payload_), payload_left_},
    };
    const ssize_t n = out->write(std::span(pieces, payload_left_ > 0 ? 2u : 1u));
    // Earlier data of the peer is read first; then reading fails.
    if (n < 0) (void)shutdown(out->fd.get(), SHUT_RDWR);
    if (n <= 0) return n;
    auto bytes = static_cast<std::uint64_t>(n);
    core_.count_moved(bytes);
    const std::uint64_t of_head = std::min<std::uint64_t>(bytes, head_left_);
    head_left_ -= of_head;
    bytes -= of_head;
    payload_left_ -= bytes;
    if (bytes > 0) payload_ += bytes;
    return n;
}

// A frame that has begun must be completed with its bytes, but its message was cancelled. False:
// there is no memory to keep them, and another connection has the spare.
bool SharedConnection::keep_payload() {
    try {
        orphan_.reserve(payload_left_);
    } catch (const std::bad_alloc&) {
        if (core_.spare.capacity() < payload_left_) return false;
        orphan_.swap(core_.spare);
    }
    orphan_.assign(payload_, payload_ + payload_left_);
    payload_ = orphan_.data();
    return true;
}

// The frame has ended.
void SharedConnection::drop_payload() {
    orphan_.clear();
    if (core_.spare.capacity() < orphan_.capacity()) core_.spare.swap(orphan_);
}

void SharedConnection::write_frames() {
    while (core_.may_move > 0) {
        if (!is_writing() && !begin_frame()) return out->watch_out(false);
        const ssize_t n = write_frame();
        if (n == 0) return out->watch_out(true);
        if (n < 0) return out->watch_out(false);
        if (is_writing()) return out->watch_out(true);
        end_frame();
    }
    out->watch_out(owes());
}

void SharedConnection::cancel_sends(std::uint64_t context) {
    auto is_of_context = [&](std::uint64_t stream) { return context_of(stream) == context; };
    sends_.for_each([&](const SendLane& lane) {
        // It was counted when it became ready, and will never be written.
        if (is_of_context(lane.stream) && lane.front == SendLane::Front::cleared &&
            lane.front_is_eager && writing_ != lane.stream)
            credit_.regain(Credit::cost_of(lane.waiting->bytes));
    });
    cleared_.remove_if(is_of_context);
    controls_.remove_if([&](const Frame& frame) {
        return frame.kind == FrameKind::rts && is_of_context(frame.stream);
    });
    if (writing_ && is_of_context(*writing_)) {
        if (!keep_payload()) return core_.lose(peer, WEFT_BROKEN_MEMORY);
        writing_.reset();
    }
    sends_.for_each([&](SendLane& lane) {
        if (!is_of_context(lane.stream)) return;
        forget_all(lane);
        lane.front = SendLane::Front::none;
        lane.early_cts = 0;
    });
    core_.note_owing(*this);
}

}  // namespace weft::tcp
