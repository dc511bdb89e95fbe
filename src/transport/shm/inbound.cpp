// The receiving half: records out of the ring, into the receives that they match.
#include <errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "transport/shm/copy.h"
#include "transport/shm/shm.h"

namespace weft {

using shm::LaneQueue;
using shm::LargeMethod;
using shm::Post;
using shm::Record;
using shm::RecordKind;
using shm::Rts;
using shm::SlotId;
using shm::Unexpected;

namespace {

constexpr std::uint32_t quiet_polls_max = 4096;     // between two looks for lost peers
constexpr std::size_t pull_bytes_max = 256 * 1024;  // in one call, and so in one poll

// Stores bytes of a message, from `offset` on, in its receive's buffer.
void take_in(std::byte* place, const Combination& combination, std::size_t offset,
             const std::byte* bytes, std::size_t n) {
    if (combination.kernel == nullptr) [[likely]]
        return shm::copy_bytes(place + offset, bytes, n);
    WEFT_ASSERT(n % combination.element_bytes == 0);
    combination.kernel(combination.left + offset, bytes, place + offset,
                       n / combination.element_bytes);
}

}  // namespace

// A record's bytes, likewise.
inline void ShmTransport::take_payload(Peer& peer, const Post& post, std::size_t offset,
                                       Record* record) {
    const std::size_t bytes = record->bytes;
    if (bytes < timed_bytes_min || post.combination.kernel != nullptr) [[likely]]
        return take_in(post.data, post.combination, offset, record->payload(), bytes);
    copy_part(peer.copies_out, post.data + offset, {record->payload(), bytes});
}

// False: a failure notice must stay until its receive is posted: there is no memory to keep it.
inline bool ShmTransport::take_eager(Peer& peer, Record* record) {
    LaneQueue* lane = peer.receives.try_find(record->id);
    const std::size_t bytes = record->bytes;
    if (lane == nullptr) [[unlikely]] {
        if (is_wanted(record->id)) lose_message(peer, record->id);
        return true;
    }
    if (Post* post = lane->match()) [[likely]] {
        if (post->bytes == bytes) [[likely]] {
            take_payload(peer, *post, 0, record);
            settle(peer, *lane, post, {});
        } else {
            settle(peer, *lane, post, Outcome::mismatch(bytes, post->bytes));
        }
        return true;
    }
    if (!is_wanted(record->id)) return true;
    Unexpected* message = keep_unexpected(peer, lane, bytes);
    if (message != nullptr)
        shm::copy_bytes(message->data, record->payload(), bytes);
    else
        lose_message(peer, record->id);
    return message != nullptr || context_of(record->id) != 0;
}

// False: the record must stay, because it cannot be kept, or there is no room to answer it.
inline bool ShmTransport::take(Peer& peer, Record* record) {
    const RecordKind kind = record->kind(std::memory_order_relaxed);
    if (kind == RecordKind::eager) [[likely]]
        return take_eager(peer, record);
    switch (kind) {
        case RecordKind::pushed: take_pushed(peer, record); return true;
        case RecordKind::pushed_part: take_pushed_part(peer, record); return true;
        case RecordKind::rts: return take_rts(peer, record);
        case RecordKind::data: take_data(peer, record); return true;
        case RecordKind::cts: return take_cts(peer, record);
        case RecordKind::finished: {
            const SlotId id = SlotId::unpack(record->id);
            if (SendTransfer* transfer = sends_.find(id)) finish_send(*transfer, id);
            return true;
        }
        case RecordKind::revoked: {
            const SlotId id = SlotId::unpack(record->id);
            if (receives_.find(id) != nullptr) finish_receive(id, {.code = WEFT_BROKEN_RANK});
            return true;
        }
        case RecordKind::eager:
        case RecordKind::none:
        case RecordKind::skip: break;
    }
    WEFT_ASSERT(!"a record of a known kind");
    return true;
}

// Takes the peer's records up to the first that completes something. Looking for more would wait
// for a cache line that the peer is writing, and delay the completion.
inline void ShmTransport::take_some(Peer& peer) {
    const std::size_t reported_before = reports_.count();
    std::size_t moved_bytes = 0;
    Record* record = peer.in.peek();
    if (record == nullptr) {
        if (peer.in.yield_room()) put_off_waking(peer);
        return;
    }
    do {
        moved_bytes += shm::record_span(record->bytes);
        if (!take(peer, record)) [[unlikely]]
            return;
        if (peer.in.pop(record)) put_off_waking(peer);
        if (reports_.count() != reported_before || moved_bytes >= peer.window_bytes) return;
        record = peer.in.peek();
    } while (record != nullptr);
}

// False: not yet all of it.
bool ShmTransport::take_the_rest(Peer& peer) {
    while (Record* record = peer.in.peek()) {
        // (Others need no answer any more.)
        const bool is_eager = record->kind(std::memory_order_relaxed) == RecordKind::eager;
        if (!take(peer, record) && is_eager) return false;
        (void)peer.in.pop(record);
    }
    return true;
}

std::size_t ShmTransport::poll(std::span<Completion> done) {
    reports_.begin(done);
    const std::uint64_t parts = counters_.parts_moved;
    const std::size_t peers = peers_.size();
    for (std::size_t i = 0; i < peers; ++i) {
        if (reports_.is_full()) [[unlikely]] {
            // Begin with the others next time: a busy peer must not starve them.
            first_peer_ = (first_peer_ + i) % peers;
            break;
        }
        const std::size_t index = first_peer_ + i;
        Peer& peer = peers_[index < peers ? index : index - peers];
        take_some(peer);
        if (peer.has_work) work_on(peer);
    }
    if (polls_until_waking_ != 0) {
        // A poll that moves parts of large messages counts as many: it takes as long.
        count_polls_before_waking(parts == counters_.parts_moved ? 1 : polls_before_waking / 2);
    }
    if (reports_.count() == 0 && ++quiet_polls_ >= quiet_polls_max) {
        quiet_polls_ = 0;
        look_for_lost_peers();
    }
    return reports_.end();
}

Posted ShmTransport::post_recv(const Lane& lane, MutBytes data, Token token) {
    Peer& peer = peer_of(lane.peer);
    LaneQueue& queue = peer.receives.find(lane.stream.packed());
    if (queue.unexpected.first != nullptr || peer.lost) [[unlikely]]
        return post_recv_late(peer, lane, data, {}, token);
    Post* post = posts_.take(queue.stream);
    post->data = data.data();
    post->bytes = data.size();
    post->combination.kernel = nullptr;
    post->token = token;
    post->stream = queue.stream;
    post->is_over = false;
    queue.append_waiting(post);
    return Posted::pending;
}

NextMessage ShmTransport::next_on(const Lane& lane) {
    Peer& peer = peer_of(lane.peer);
    const LaneQueue* queue = peer.receives.find_existing(lane.stream.packed());
    const Unexpected* message = queue != nullptr ? queue->unexpected.first : nullptr;
    if (message != nullptr) return NextMessage::here;
    return peer.lost ? NextMessage::gone : NextMessage::none;
}

Posted ShmTransport::post_recv_combined(const Lane& lane, MutBytes data,
                                        const Combination& combination, Token token) {
    WEFT_ASSERT(std::has_single_bit(combination.element_bytes) &&
                data.size() % combination.element_bytes == 0);
    ++counters_.combined;
    Peer& peer = peer_of(lane.peer);
    LaneQueue& queue = peer.receives.find(lane.stream.packed());
    if (queue.unexpected.first != nullptr || peer.lost)
        return post_recv_late(peer, lane, data, combination, token);
    queue.append_waiting(new_receive(queue, data, combination, token));
    return Posted::pending;
}

Post* ShmTransport::new_receive(const LaneQueue& queue, MutBytes data,
                                const Combination& combination, Token token) {
    Post* post = posts_.take(queue.stream);
    *post = {.data = data.data(),
             .bytes = data.size(),
             .token = token,
             .stream = queue.stream,
             .combination = combination};
    return post;
}

// As post_recv(), when the message is here already, or will never come.
Posted ShmTransport::post_recv_late(Peer& peer, Lane lane, MutBytes data,
                                    const Combination& combination, Token token) {
    LaneQueue& queue = peer.receives.find(lane.stream.packed());
    Unexpected* message = queue.unexpected.first;
    const bool is_incomplete = message != nullptr && (message->is_rts || message->is_partial);
    if (message == nullptr || (peer.lost && is_incomplete)) return refuse(peer, lane, token);

    const bool is_here = !is_incomplete && message->bytes == data.size();
    const bool is_done = is_here && queue.posts.empty() && !reports_.has_kept();
    if (message->is_rts) reserve_transfer(peer);
    Post* post = is_done ? nullptr : new_receive(queue, data, combination, token);
    // From here on nothing throws.
    queue.unexpected.first = message->next;
    if (is_here) take_in(data.data(), combination, 0, message->data, data.size());
    if (is_done) {
        release(peer, message);
        return Posted::done;
    }
    queue.posts.append(post);
    if (message->is_rts) {
        answer_rts(peer, queue, post, message->rts);
    } else if (is_here) {
        settle(peer, queue, post, {});
    } else if (message->is_partial && message->bytes == data.size()) {
        // The rest goes where it belongs.
        take_in(post->data, post->combination, 0, message->data, peer.pushed.offset);
        peer.pushed.message = nullptr;
        peer.pushed.post = post;
    } else {
        if (message->is_partial) peer.pushed.message = nullptr;
        settle(peer, queue, post, Outcome::mismatch(message->bytes, data.size()));
    }
    release(peer, message);
    return Posted::pending;
}

void ShmTransport::take_pushed(Peer& peer, Record* record) {
    shm::Pushed& pushed = peer.pushed;
    WEFT_ASSERT(pushed.offset == pushed.bytes);
    std::uint64_t bytes;
    std::memcpy(&bytes, record->payload(), sizeof bytes);
    pushed = {.stream = record->id, .bytes = bytes};
    LaneQueue* lane = peer.receives.try_find(record->id);
    if (Post* post = lane != nullptr ? lane->match() : nullptr) {
        if (post->bytes == bytes) {
            pushed.post = post;
        } else {
            settle(peer, *lane, post, Outcome::mismatch(bytes, post->bytes));
        }
    } else if (is_wanted(record->id)) {
        pushed.message = keep_unexpected(peer, lane, bytes);
        if (pushed.message != nullptr)
            pushed.message->is_partial = true;
        else
            lose_message(peer, record->id);
    }
}

void ShmTransport::take_pushed_part(Peer& peer, Record* record) {
    shm::Pushed& pushed = peer.pushed;
    const std::size_t bytes = record->bytes;
    WEFT_ASSERT(bytes <= pushed.bytes - pushed.offset);
    if (pushed.post != nullptr) {
        take_payload(peer, *pushed.post, pushed.offset, record);
    } else if (pushed.message != nullptr) {
        shm::copy_bytes(pushed.message->data + pushed.offset, record->payload(), bytes);
    }
    pushed.offset += bytes;
    ++counters_.parts_moved;
    if (pushed.offset < pushed.bytes) return;
    if (pushed.message != nullptr) pushed.message->is_partial = false;
    if (pushed.post != nullptr) settle(peer, peer.receives.find(pushed.stream), pushed.post, {});
    pushed = {};
}

bool ShmTransport::take_rts(Peer& peer, Record* record) {
    Rts from;
    std::memcpy(&from, record->payload(), sizeof from);
    LaneQueue* lane = peer.receives.try_find(record->id);
    Post* post = lane != nullptr ? lane->match() : nullptr;
    if (post == nullptr && !is_wanted(record->id)) return send_drop(peer, from);
    try {
        if (post != nullptr)
            answer_rts(peer, *lane, post, from);
        else
            keep_rts(peer, lane, from);
    } catch (const std::bad_alloc&) {
        lose_message(peer, record->id);
    }
    return true;
}

// The message will not be received; its sender must not wait forever. False: that cannot be said
// now.
bool ShmTransport::send_drop(Peer& peer, const Rts& from) {
    if (!has_room_for_controls(peer)) return false;
    send_control(peer, {.kind = RecordKind::finished, .about = SlotId::unpack(from.transfer)});
    return true;
}

void ShmTransport::keep_rts(Peer& peer, LaneQueue* lane, const Rts& from) {
    reserve_controls(peer);
    Unexpected* message = lane != nullptr ? unexpected_.take_without_room(from.bytes) : nullptr;
    if (message == nullptr) throw std::bad_alloc();
    message->is_rts = true;
    message->rts = from;
    ++rts_kept_;
    lane->unexpected.append(message);
}

// A transfer can begin without memory.
void ShmTransport::reserve_transfer(Peer& peer) {
    receives_.reserve();
    peer.pulls.reserve(peer.pulls.size() + 1);
    reserve_controls(peer);
}

void ShmTransport::answer_rts(Peer& peer, LaneQueue& lane, Post* post, const Rts& from) {
    reserve_transfer(peer);
    if (from.bytes != post->bytes) {
        send_control(peer, {.kind = RecordKind::finished, .about = SlotId::unpack(from.transfer)});
        settle(peer, lane, post, Outcome::mismatch(from.bytes, post->bytes));
        return;
    }
    const SlotId id = receives_.add({.peer = &peer, .post = post, .from = from});
    ReceiveTransfer& transfer = *receives_.find(id);
    const bool may_pull = settings_.large == LargeMethod::vm_readv && peer.can_pull &&
                          post->combination.kernel == nullptr;
    if (may_pull && still_readable(transfer)) {
        peer.pulls.push(id);
        peer.has_work = true;
    } else {
        send_cts(id, transfer);
    }
}

// Asks the sender to stream the message from its beginning.
void ShmTransport::send_cts(SlotId id, ReceiveTransfer& transfer) {
    transfer.offset = 0;
    send_control(
        *transfer.peer,
        {.kind = RecordKind::cts, .about = SlotId::unpack(transfer.from.transfer), .own = id});
}

void ShmTransport::take_data(Peer& peer, Record* record) {
    const SlotId id = SlotId::unpack(record->id);
    ReceiveTransfer* transfer = receives_.find(id);
    if (transfer == nullptr) return;  // cancelled
    WEFT_ASSERT(transfer->peer == &peer &&
                record->bytes <= transfer->post->bytes - transfer->offset);
    const Post& post = *transfer->post;
    take_payload(peer, post, transfer->offset, record);
    transfer->offset += record->bytes;
    ++counters_.parts_moved;
    if (transfer->offset == transfer->post->bytes) {
        ++counters_.large_by_ring;
        finish_receive(id, {});
    }
}

void ShmTransport::finish_receive(SlotId id, const Outcome& how) {
    const ReceiveTransfer transfer = *receives_.find(id);
    receives_.remove(id);
    Peer& peer = *transfer.peer;
    settle(peer, peer.receives.find(transfer.post->stream), transfer.post, how);
}

// The sender resets this before it gives its buffer back, with a fence in between. Without the
// fence here the load could be satisfied before the copy that precedes it has read its last byte.
bool ShmTransport::still_readable(const ReceiveTransfer& transfer) const {
    const SlotId sender = SlotId::unpack(transfer.from.transfer);
    const auto& readable = transfer.peer->parts.segment->header().readable;
    if (sender.index >= readable.size()) return false;
    shm::full_fence();
    return readable[sender.index].load(std::memory_order_relaxed) == sender.use;
}

// Reads the next part of the first pull. False: nothing is left to do now.
bool ShmTransport::pull_part(Peer& peer) {
    const SlotId id = peer.pulls.front();
    ReceiveTransfer& transfer = *receives_.find(id);
    const Post& post = *transfer.post;
    if (transfer.offset < post.bytes) {
        const std::size_t bytes = std::min(pull_bytes_max, post.bytes - transfer.offset);
        const iovec to{post.data + transfer.offset, bytes};
        const iovec from{reinterpret_cast<void*>(transfer.from.address + transfer.offset), bytes};
        const ssize_t moved = process_vm_readv(peer.parts.pid, &to, 1, &from, 1, 0);
        if (moved <= 0) {
            // EFAULT is about this buffer; any other error would come back with the next message.
            if (moved < 0 && errno != EFAULT) {
                peer.can_pull = false;
                ++counters_.vm_readv_refusals;
            }
            peer.pulls.pop();
            send_cts(id, transfer);
            return !peer.pulls.empty();
        }
        transfer.offset += static_cast<std::size_t>(moved);
        ++counters_.parts_moved;
        if (transfer.offset < post.bytes) return true;
    }
    peer.pulls.pop();
    if (still_readable(transfer)) {
        ++counters_.large_by_vm_readv;
        send_control(
            peer, {.kind = RecordKind::finished, .about = SlotId::unpack(transfer.from.transfer)});
        finish_receive(id, {});
    } else {
        finish_receive(id, {.code = WEFT_BROKEN_RANK});
    }
    return !peer.pulls.empty();
}

bool ShmTransport::is_wanted(std::uint64_t stream) const {
    return contexts_.wants(context_of(stream));
}

// Makes room for a message until its receive is posted. Null: there is no memory for it.
Unexpected* ShmTransport::keep_unexpected(Peer& peer, LaneQueue* lane, std::size_t bytes) {
    Unexpected* message = lane != nullptr ? unexpected_.take(bytes) : nullptr;
    if (message == nullptr) return nullptr;
    lane->unexpected.append(message);
    peer.unexpected_bytes += sizeof(Unexpected) + bytes;
    counters_.unexpected_bytes_max =
        std::max<std::uint64_t>(counters_.unexpected_bytes_max, peer.unexpected_bytes);
    peer.in.report_unexpected(peer.unexpected_bytes);
    return message;
}

void ShmTransport::release(Peer& peer, Unexpected* message) {
    if (message->is_rts) {
        --rts_kept_;
    } else {
        peer.unexpected_bytes -= sizeof(Unexpected) + message->bytes;
        peer.in.report_unexpected(peer.unexpected_bytes);
    }
    unexpected_.release(message);
}

void ShmTransport::cancel_receives(Peer& peer, std::uint64_t context) {
    auto is_of_context = [&](std::uint64_t stream) { return context_of(stream) == context; };
    auto end_transfer = [&](std::uint64_t transfer) {
        send_control(peer, {.kind = RecordKind::finished, .about = SlotId::unpack(transfer)});
    };
    peer.pulls.remove_if([&](SlotId id) {
        const ReceiveTransfer& transfer = *receives_.find(id);
        if (!is_of_context(transfer.post->stream)) return false;
        end_transfer(transfer.from.transfer);
        return true;
    });
    if (is_of_context(peer.pushed.stream)) {
        peer.pushed.post = nullptr;
        peer.pushed.message = nullptr;
    }
    // Further parts in the ring find no transfer and are dropped.
    receives_.for_each([&](SlotId id, ReceiveTransfer& transfer) {
        if (transfer.peer == &peer && is_of_context(transfer.post->stream)) receives_.remove(id);
    });
    peer.receives.for_each([&](LaneQueue& lane) {
        if (!is_of_context(lane.stream)) return;
        lane.forget([&](Post* post) { posts_.give_back(post); });
        while (Unexpected* message = lane.unexpected.first) {
            lane.unexpected.first = message->next;
            if (message->is_rts) end_transfer(message->rts.transfer);
            release(peer, message);
        }
    });
}

void ShmTransport::drop_unwanted_messages(Peer& peer) {
    peer.receives.for_each([&](LaneQueue& lane) {
        if (lane.unexpected.first != nullptr && !is_wanted(lane.stream))
            cancel_receives(peer, context_of(lane.stream));
    });
}

}  // namespace weft
