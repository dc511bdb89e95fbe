// A ring of records in memory that one writer and one reader share.
//
// A record starts on a pair of cache lines of its own with a 16-byte head, so that a message of up
// to 48 bytes travels in one line. The head's first word is stored last and is all the reader looks at:
// the word where the next record will start is 0 until that record is complete. For this the
// writer clears the word behind a record before it publishes the record.
//
// Positions count bytes and never wrap; a position's place is its remainder by the capacity. A
// record that would cross the end of the memory starts at its beginning, behind a `skip`.
//
// Thread safety: one RingWriter and one RingReader may be used at the same time, each by one
// thread. They synchronise through atomics in the shared memory alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/bytes.h"

namespace weft::shm {

inline constexpr std::size_t line_bytes = 64;
// Where records start. Processors fetch the neighbour of a line they read; the lines the peer will
// write next must not be among those, or its next message waits until they are given back.
inline constexpr std::size_t slot_bytes = 2 * line_bytes;

enum class RecordKind : std::uint32_t {
    none = 0,
    skip = 0x57f70001,  // a pattern no accidental zero or small number looks like
    eager,              // a message; id: stream
    rts,                // ready to send: a large message waits at its sender; id: stream
    cts,                // clear to send: the receiver is ready; id: sender's transfer
    data,               // a piece of a large message; id: receiver's transfer
    finished,           // the receiver needs nothing more; id: sender's transfer
    revoked,            // the sender has given the transfer up; id: receiver's transfer
};

struct Record {
    std::uint32_t word;   // the RecordKind; only ever touched through an atomic
    std::uint32_t bytes;  // of payload
    std::uint64_t id;

    std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
    RecordKind kind(std::memory_order order) {
        return static_cast<RecordKind>(std::atomic_ref<std::uint32_t>(word).load(order));
    }
    void set_kind(RecordKind kind, std::memory_order order) {
        std::atomic_ref<std::uint32_t>(word).store(static_cast<std::uint32_t>(kind), order);
    }
};
static_assert(sizeof(Record) == 16 && std::atomic_ref<std::uint32_t>::is_always_lock_free);

inline std::size_t record_span(std::size_t payload_bytes) {
    return (sizeof(Record) + payload_bytes + slot_bytes - 1) & ~(slot_bytes - 1);
}

// What the two ends tell each other beside the records; in shared memory, initially zero.
struct RingControl {
    alignas(2 * line_bytes) std::atomic<std::uint64_t> head{0};  // the reader is done up to here
    std::atomic<std::uint64_t> unexpected{0};  // bytes of unexpected messages at the reader
    alignas(2 * line_bytes) std::atomic<std::uint32_t> blocked{0};  // the writer waits for room
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Where a ring is. The capacity is a power of two, at least 16 slots.
struct RingMemory {
    RingControl* control = nullptr;
    std::byte* data = nullptr;
    std::size_t capacity = 0;

    Record* at(std::uint64_t position) const {
        return reinterpret_cast<Record*>(data + (position & (capacity - 1)));
    }
    std::size_t bytes_to_end(std::uint64_t position) const {
        return capacity - (position & (capacity - 1));
    }
};

class RingWriter {
  public:
    RingWriter() = default;
    explicit RingWriter(RingMemory ring) : ring_(ring) {}

    // The next record, to be filled and published; null when there is no room for it.
    Record* reserve(std::size_t payload_bytes) {
        const std::size_t span = record_span(payload_bytes);
        const std::size_t to_end = ring_.bytes_to_end(tail_);
        start_ = span <= to_end ? tail_ : tail_ + to_end;
        // One slot more than the record: the cleared word behind it.
        if (start_ + span + slot_bytes > head_seen_ + ring_.capacity) [[unlikely]] {
            head_seen_ = ring_.control->head.load(std::memory_order_acquire);
            (void)refresh_unexpected();
            if (start_ + span + slot_bytes > head_seen_ + ring_.capacity) return nullptr;
        }
        return ring_.at(start_);
    }

    // Lets the reader see the record that reserve(payload_bytes) gave. The store is sequentially
    // consistent: after it, looking whether the reader sleeps cannot miss a reader that has gone
    // to sleep without seeing the record. Here is the place for it: what follows waits for the peer
    // anyway, and a fence later, when the peer's answer is there, would not.
    void publish(Record* record, RecordKind kind, std::uint64_t id, std::size_t payload_bytes) {
        const std::uint64_t end = start_ + record_span(payload_bytes);
        record->bytes = static_cast<std::uint32_t>(payload_bytes);
        record->id = id;
        if (end != cleared_) clear(end);
        if (start_ == tail_) [[likely]] {
            record->set_kind(kind, std::memory_order_seq_cst);
        } else {
            record->set_kind(kind, std::memory_order_relaxed);
            ring_.at(tail_)->set_kind(RecordKind::skip, std::memory_order_seq_cst);
        }
        tail_ = end;
        // The next record is probably of one slot. Clearing the word behind it now, not then,
        // takes one transfer of a cache line out of that message's way.
        if (end + 2 * slot_bytes <= head_seen_ + ring_.capacity) {
            cleared_ = end + slot_bytes;
            clear(cleared_);
        }
    }

    // After a reserve() without success: asks the reader to tell when it has made room. True when
    // there is room already.
    bool ask_for_room(std::size_t payload_bytes);
    // The same for a writer that wants at most `bytes` under way.
    bool ask_until_in_flight(std::size_t bytes);

    // Bytes published and not yet known to be consumed.
    std::size_t in_flight() const { return tail_ - head_seen_; }
    // As in_flight(), from the reader's latest word.
    std::size_t refresh_in_flight() {
        head_seen_ = ring_.control->head.load(std::memory_order_acquire);
        return in_flight();
    }

    // Bytes of unexpected messages at the reader, as of the last time the ring seemed full.
    std::uint64_t unexpected() const { return unexpected_seen_; }
    std::uint64_t refresh_unexpected() {
        return unexpected_seen_ = ring_.control->unexpected.load(std::memory_order_relaxed);
    }

  private:
    void ask();
    void clear(std::uint64_t position) {
        ring_.at(position)->set_kind(RecordKind::none, std::memory_order_relaxed);
    }

    RingMemory ring_;
    std::uint64_t tail_ = 0;       // where the next record starts, or the skip before it
    std::uint64_t start_ = 0;      // of the reserved record
    std::uint64_t head_seen_ = 0;  // the reader's position as last read
    std::uint64_t cleared_ = 0;    // beside tail_, a position whose word is known to be 0
    std::uint64_t unexpected_seen_ = 0;
};

class RingReader {
  public:
    RingReader() = default;
    explicit RingReader(RingMemory ring) : ring_(ring) {}

    // The oldest record not popped; null when there is none.
    Record* peek(std::memory_order order = std::memory_order_acquire) {
        Record* record = ring_.at(position_);
        const RecordKind kind = record->kind(order);
        if (kind == RecordKind::none) return nullptr;
        if (kind == RecordKind::skip) [[unlikely]] {
            position_ += ring_.bytes_to_end(position_);
            record = ring_.at(position_);
        }
        return record;
    }

    // Gives the record's room back: in steps, so that the writer's cache line is taken rarely.
    // True when a waiting writer must be woken should it sleep, which is worth it for a good part
    // of the ring only.
    [[nodiscard]] bool pop(Record* record) {
        position_ += record_span(record->bytes);
        if (position_ - published_ < ring_.capacity / 16) [[likely]]
            return false;
        if (position_ - offered_ >= ring_.capacity / 4) return publish();
        published_ = position_;
        ring_.control->head.store(position_, std::memory_order_release);
        return false;
    }

    // Tells the writer how many bytes of what it wrote were unexpected.
    void report_unexpected(std::uint64_t bytes) {
        ring_.control->unexpected.store(bytes, std::memory_order_relaxed);
    }

    // For when there is no record: a waiting writer gets all the room. True as for pop().
    [[nodiscard]] bool yield_room() {
        return position_ != offered_ &&
               ring_.control->blocked.load(std::memory_order_relaxed) != 0 && publish();
    }

    // For when the reader is about to sleep: all room is given back. True as for pop().
    [[nodiscard]] bool offer_room() { return position_ != offered_ && publish(); }

  private:
    bool publish();

    RingMemory ring_;
    std::uint64_t position_ = 0;
    std::uint64_t published_ = 0;  // the writer may know that the reader is done up to here
    std::uint64_t offered_ = 0;    // a writer that waited at this point was told
};

}  // namespace weft::shm
