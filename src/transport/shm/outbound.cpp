// The sending half: eager messages and RTSs into the peer's ring, then parts of large messages.
//
// Towards one peer, records go out in this order: sends in posting order, answers about transfers,
// parts of large messages. So no answer overtakes the failure notice that explains it. Parts use
// only part of the ring, so that small messages of other lanes always find room between them.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "transport/shm/copy.h"
#include "transport/shm/shm.h"

namespace weft {

using shm::Control;
using shm::CopyBy;
using shm::CopyChoice;
using shm::CopyChoices;
using shm::LaneQueue;
using shm::LargeMethod;
using shm::Post;
using shm::Record;
using shm::RecordKind;
using shm::Rts;
using shm::SlotId;

namespace {

// Flow control: a receiver with this many unexpected bytes gets only RTSs until half of them are
// left.
constexpr std::uint64_t unexpected_bytes_max = 1 << 20;

// Room for a record; null: there is none, and the reader will wake us when there is.
Record* reserve(shm::RingWriter& ring, std::size_t payload_bytes) {
    Record* record = ring.reserve(payload_bytes);
    if (record == nullptr && ring.ask_for_room(payload_bytes)) record = ring.reserve(payload_bytes);
    return record;
}

}  // namespace

inline bool ShmTransport::write_eager(Peer& peer, std::uint64_t stream, Bytes data) {
    Record* record = peer.out.reserve(data.size());
    if (record == nullptr) [[unlikely]] {
        record = reserve(peer.out, data.size());
        if (record == nullptr) return false;
    }
    if (data.size() < timed_bytes_min) [[likely]]
        shm::copy_bytes(record->payload(), data.data(), data.size());
    else
        copy_part(peer.copies_in, record->payload(), data);
    peer.out.publish(record, RecordKind::eager, stream, data.size());
    put_off_waking(peer);
    if (is_notice(stream)) [[unlikely]]
        peer.to_wake_on_demand = true;
    if (peer.out.unexpected() > unexpected_bytes_max) [[unlikely]]
        peer.eager_threshold = 0;
    return true;
}

// Writes all of a medium message, if the ring has room for it. False: nothing was written.
bool ShmTransport::push(Peer& peer, std::uint64_t stream, Bytes data) {
    const std::size_t parts = (data.size() + peer.part_bytes - 1) / peer.part_bytes;
    const std::size_t spans =
        shm::record_span(sizeof(std::uint64_t)) + (parts + 1) * shm::record_span(peer.part_bytes);
    if (spans > peer.window_bytes) return false;
    if (peer.out.in_flight() + spans > peer.window_bytes &&
        peer.out.refresh_in_flight() + spans > peer.window_bytes)
        return false;
    if (peer.out.refresh_unexpected() > unexpected_bytes_max) {
        peer.eager_threshold = 0;
        return false;
    }
    const std::uint64_t bytes = data.size();
    Record* record = peer.out.reserve(sizeof bytes);
    WEFT_ASSERT(record != nullptr);
    std::memcpy(record->payload(), &bytes, sizeof bytes);
    peer.out.publish(record, RecordKind::pushed, stream, sizeof bytes);
    for (std::size_t at = 0; at < data.size(); at += peer.part_bytes) {
        const Bytes part = data.subspan(at, std::min(peer.part_bytes, data.size() - at));
        record = peer.out.reserve(part.size());
        WEFT_ASSERT(record != nullptr);
        copy_part(peer.copies_in, record->payload(), part);
        peer.out.publish(record, RecordKind::pushed_part, 0, part.size());
        ++counters_.parts_moved;
    }
    ++counters_.large_pushed;
    put_off_waking(peer);
    return true;
}

Posted ShmTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    // With completions that are kept, `done` might overtake one of this lane.
    if (data.size() < peer.eager_threshold && peer.is_clear() && !reports_.has_kept()) [[likely]] {
        if (write_eager(peer, lane.stream.packed(), data)) return Posted::done;
    }
    return post_send_slowly(peer, lane, data, token);
}

Posted ShmTransport::post_send_slowly(Peer& peer, Lane lane, Bytes data, Token token) {
    if (peer.lost) return refuse(peer, lane, token);
    const std::uint64_t stream = lane.stream.packed();
    LaneQueue& queue = peer.sends.find(stream);
    if (peer.eager_threshold == 0 && peer.out.refresh_unexpected() <= unexpected_bytes_max / 2)
        peer.eager_threshold = eager_threshold(*peer.parts.segment);
    // Failure notices must precede the cancellations that they explain, and are short.
    const bool is_eager =
        is_notice(stream) ? data.size() <= peer.part_bytes : data.size() < peer.eager_threshold;
    // Pending sends of other lanes only matter if they wait for room in the ring.
    const bool is_next =
        queue.idle() && peer.controls.empty() && peer.waiting.empty() && !reports_.has_kept();
    if (is_eager && is_next && write_eager(peer, stream, data)) return Posted::done;
    const bool may_push = (uses_demands_ || pushes_medium_) && peer.eager_threshold > 0 &&
                          settings_.large != LargeMethod::vm_readv &&
                          data.size() <= pushed_bytes_max;
    if (!is_eager && is_next && may_push && push(peer, stream, data)) return Posted::done;

    peer.waiting.reserve(peer.waiting.size() + 1);
    if (!is_eager) {
        sends_.reserve();
        peer.cleared.reserve(peer.sends_pending + 1);
        reserve_controls(peer);
    }
    Post* post = posts_.take(stream);
    *post = {.data = const_cast<std::byte*>(data.data()),
             .bytes = data.size(),
             .token = token,
             .stream = stream,
             .needs_cts = !is_eager};
    if (post->needs_cts) {
        post->transfer = sends_.add({.peer = &peer, .post = post});
        auto& readable = segment_->header().readable;
        if (post->transfer.index < readable.size())
            readable[post->transfer.index].store(post->transfer.use, std::memory_order_release);
    }
    queue.posts.append(post);
    ++peer.sends_pending;
    peer.waiting.push(post);
    peer.has_work = true;
    flush(peer);
    return Posted::pending;
}

bool ShmTransport::write_post(Peer& peer, Post* post) {
    if (!post->needs_cts) {
        if (!write_eager(peer, post->stream, {post->data, post->bytes})) return false;
        LaneQueue& lane = peer.sends.find(post->stream);
        peer.sends_pending -= settle(peer, lane, post, {});
        return true;
    }
    Record* record = reserve(peer.out, sizeof(Rts));
    if (record == nullptr) return false;
    const Rts rts{
        .bytes = post->bytes,
        .address = reinterpret_cast<std::uintptr_t>(post->data),
        .transfer = post->transfer.packed(),
    };
    std::memcpy(record->payload(), &rts, sizeof rts);
    peer.out.publish(record, RecordKind::rts, post->stream, sizeof rts);
    put_off_waking(peer);
    return true;
}

bool ShmTransport::write_control(Peer& peer, const Control& control) {
    const std::uint64_t own = control.own.packed();
    Record* record = reserve(peer.out, sizeof own);
    if (record == nullptr) return false;
    std::memcpy(record->payload(), &own, sizeof own);
    peer.out.publish(record, control.kind, control.about.packed(), sizeof own);
    put_off_waking(peer);
    return true;
}

// There must always be room for one about each transfer and each message that waits at its sender.
void ShmTransport::reserve_controls(Peer& peer) {
    peer.controls.reserve(peer.controls.size() + sends_.size() + receives_.size() + rts_kept_ + 1);
}

bool ShmTransport::has_room_for_controls(Peer& peer) {
    try {
        reserve_controls(peer);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// REQUIRES: there is room for it.
void ShmTransport::send_control(Peer& peer, const Control& control) {
    if (peer.lost) return;
    if (peer.controls.empty() && peer.waiting.empty() && write_control(peer, control)) return;
    peer.controls.push(control);
    peer.has_work = true;
}

// Out of line, to keep it out of the code for small messages.
[[gnu::noinline]] void ShmTransport::copy_part(CopyChoices& choices, std::byte* to, Bytes part) {
    CopyChoice& choice = choices.of(part.size());
    CopyChoice::Turn turn;
    if (part.size() >= timed_bytes_min) turn = choice.next();

    const std::uint64_t begin = turn.timed ? ticks() : 0;
    switch (turn.how) {
        case CopyBy::loop: shm::copy_bytes(to, part.data(), part.size()); break;
        case CopyBy::string: shm::copy_string(to, part.data(), part.size()); break;
        case CopyBy::streaming: shm::copy_streaming(to, part.data(), part.size()); break;
    }
    if (turn.timed) choice.took(turn.how, ticks() - begin, part.size());
}

// Writes the next part of the first large send. False: there is no room for it.
bool ShmTransport::write_part(Peer& peer) {
    const SlotId id = peer.cleared.front();
    SendTransfer& transfer = *sends_.find(id);
    const Post& post = *transfer.post;
    const std::size_t bytes = std::min(peer.part_bytes, post.bytes - transfer.offset);
    const std::size_t in_flight_max = peer.window_bytes - shm::record_span(bytes);
    if (peer.out.in_flight() > in_flight_max && peer.out.refresh_in_flight() > in_flight_max &&
        !peer.out.ask_until_in_flight(in_flight_max))
        return false;
    Record* record = reserve(peer.out, bytes);
    if (record == nullptr) return false;
    copy_part(peer.copies_in, record->payload(), {post.data + transfer.offset, bytes});
    peer.out.publish(record, RecordKind::data, transfer.receiver.packed(), bytes);
    put_off_waking(peer);
    transfer.offset += bytes;
    ++counters_.parts_moved;
    if (transfer.offset == post.bytes) {
        peer.cleared.pop();
        finish_send(transfer, id);
    }
    return true;
}

// Writes queued records, a bounded amount. False: nothing is queued, or there is no room.
bool ShmTransport::flush(Peer& peer) {
    for (; !peer.waiting.empty(); peer.waiting.pop())
        if (!write_post(peer, peer.waiting.front())) return false;
    for (; !peer.controls.empty(); peer.controls.pop())
        if (!write_control(peer, peer.controls.front())) return false;
    for (std::size_t bytes = 0; !peer.cleared.empty(); bytes += peer.part_bytes) {
        if (bytes >= peer.window_bytes) return true;
        if (!write_part(peer)) return false;
    }
    return false;
}

void ShmTransport::finish_send(SendTransfer transfer, SlotId id) {
    Peer& peer = *transfer.peer;
    end_send_transfer(id);
    peer.sends_pending -= settle(peer, peer.sends.find(transfer.post->stream), transfer.post, {});
}

void ShmTransport::end_send_transfer(SlotId id) {
    auto& readable = segment_->header().readable;
    if (id.index < readable.size()) {
        readable[id.index].store(0, std::memory_order_relaxed);
        // No later store to the buffer may be seen before this one: see still_readable().
        shm::full_fence();
    }
    sends_.remove(id);
}

// The receiver is ready. If the send was cancelled, the receiver must not wait forever. False:
// the record must stay; there is no room for the answer.
bool ShmTransport::take_cts(Peer& peer, Record* record) {
    std::uint64_t receiver;
    std::memcpy(&receiver, record->payload(), sizeof receiver);
    const SlotId id = SlotId::unpack(record->id);
    if (SendTransfer* transfer = sends_.find(id)) {
        transfer->receiver = SlotId::unpack(receiver);
        peer.cleared.push(id);
        peer.has_work = true;
        return true;
    }
    if (!has_room_for_controls(peer)) return false;
    send_control(peer, {.kind = RecordKind::revoked, .about = SlotId::unpack(receiver)});
    return true;
}

void ShmTransport::cancel_sends(Peer& peer, std::uint64_t context) {
    auto is_of_context = [&](std::uint64_t stream) { return context_of(stream) == context; };
    peer.waiting.remove_if([&](const Post* post) { return is_of_context(post->stream); });
    peer.cleared.remove_if([&](SlotId id) {
        const SendTransfer& transfer = *sends_.find(id);
        if (!is_of_context(transfer.post->stream)) return false;
        send_control(peer, {.kind = RecordKind::revoked, .about = transfer.receiver});
        return true;
    });
    sends_.for_each([&](SlotId id, SendTransfer& transfer) {
        if (transfer.peer == &peer && is_of_context(transfer.post->stream)) end_send_transfer(id);
    });
    peer.sends.for_each([&](LaneQueue& lane) {
        if (!is_of_context(lane.stream)) return;
        lane.forget([&](Post* post) {
            posts_.give_back(post);
            --peer.sends_pending;
        });
    });
}

}  // namespace weft
