// A ring of records in memory that one writer and one reader share.
//
// A record starts on its own pair of cache lines with a 16-byte head, so that a message of up to 48
// bytes takes one line. The head's first word is stored last, and the reader polls only that: the
// word where the next record will start is 0 until that record is complete. For this the writer
// clears the word behind a record before it publishes the record.
//
// Positions count bytes and never wrap; a position's place is its remainder by the capacity. A
// record that would cross the end of the memory starts at its beginning, behind a `skip`.
//
// Thread safety: one RingWriter and one RingReader may be used at the same time, each by one
// thread. They synchronise through atomics in the shared memory alone.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/bytes.h"

namespace weft::shm {

// Which instructions copy the parts of messages into a peer's ring, and out of the own one; chosen
// by timing them.
//
// An ordinary store first fetches the line from the cache that used it last. The processor's string
// instruction (`rep movsb`) claims whole lines without fetching them where it is fast: of 64 KiB,
// one way, it makes 1.2 us out of 1.9 between cores that share a cache, 3.0 out of 9.8 between
// others. On some processors it is slow where source and destination are aligned differently.
// Streaming stores go to memory and fetch nothing. They cost the reader more than the writer sees:
// they must be better by a factor. Where the ranks run is unknown, and can change. So every fourth
// part is timed, now and then with another way to copy.
enum class CopyBy : std::uint8_t { loop, string, streaming };

class CopyChoice {
  public:
    static constexpr std::uint32_t timed_every = 4;
    static constexpr std::uint32_t timed_first = 96;  // each way in turn
    static constexpr std::uint32_t tried_every = 64;  // of the timed ones: another way
    static constexpr std::uint64_t streaming_factor = 3;

    // `ways`: the first so many of CopyBy may be chosen.
    explicit CopyChoice(std::uint32_t ways = 3) : ways_(ways) {}

    struct Turn {
        CopyBy how = CopyBy::loop;
        bool timed = false;
    };

    // For the next part.
    Turn next() {
        const std::uint32_t turn = turn_++;
        if (turn % timed_every != 0) [[likely]]
            return {best_, false};
        const std::uint32_t timed = turn / timed_every;
        if (timed < timed_first) return {static_cast<CopyBy>(timed % ways_), true};
        if (timed % tried_every != 1) return {best_, true};
        const std::uint32_t other = 1 + timed / tried_every % (ways_ - 1);
        return {static_cast<CopyBy>((static_cast<std::uint32_t>(best_) + other) % ways_), true};
    }

    // The time of a part. One measurement says little, as the thread may have been
    // interrupted: it can halve the known time of its way, or add a quarter.
    void took(CopyBy how, std::uint64_t ticks, std::size_t bytes) {
        std::uint64_t& known = ticks_of(how);
        const std::uint64_t now = std::max<std::uint64_t>(1, ticks * 1024 / bytes);
        if (known == 0) known = now;
        known = std::clamp(now, known / 2, known + known / 4 + 1);
        for (std::uint32_t way = 0; way < ways_; ++way)
            if (ticks_[way] == 0) return;
        best_ = ticks_of(CopyBy::string) < ticks_of(CopyBy::loop) ? CopyBy::string : CopyBy::loop;
        const std::uint64_t streaming = streaming_factor * ticks_of(CopyBy::streaming);
        if (streaming > 0 && streaming < ticks_of(best_)) best_ = CopyBy::streaming;
    }

    CopyBy best() const { return best_; }

  private:
    std::uint64_t& ticks_of(CopyBy how) { return ticks_[static_cast<std::size_t>(how)]; }

    std::uint32_t ways_;
    std::uint32_t turn_ = 0;
    CopyBy best_ = CopyBy::loop;
    std::array<std::uint64_t, 3> ticks_{};  // of 1,024 bytes; 0: not known
};

// The string instruction has a start-up time: what is best for parts of 16 KiB is not for 4 KiB.
class CopyChoices {
  public:
    explicit CopyChoices(std::uint32_t ways = 3) : short_(ways), long_(ways) {}

    CopyChoice& of(std::size_t bytes) { return bytes > short_bytes_max ? long_ : short_; }

  private:
    static constexpr std::size_t short_bytes_max = 8 * 1024;

    CopyChoice short_;
    CopyChoice long_;
};

inline constexpr std::size_t line_bytes = 64;
// Records start on multiples of this. Processors also fetch the neighbour of a line they read; it
// must not be a line that the peer writes next, or the peer would have to fetch it back first.
inline constexpr std::size_t slot_bytes = 2 * line_bytes;

enum class RecordKind : std::uint32_t {
    none = 0,
    skip = 0x57f70001,  // a pattern no accidental zero or small number looks like
    eager,              // a message; id: stream
    pushed,             // a message, in parts that follow at once: how many bytes; id: stream
    pushed_part,        // of the message that is being pushed
    rts,                // ready to send: a large message waits at its sender; id: stream
    cts,                // clear to send: the receiver is ready; id: sender's transfer
    data,               // a part of a large message; id: receiver's transfer
    finished,           // the receiver needs nothing more; id: sender's transfer
    revoked,            // the sender has cancelled the transfer; id: receiver's transfer
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

// State of the two ends, apart from the records; in shared memory, initially zero.
struct RingControl {
    alignas(2 * line_bytes) std::atomic<std::uint64_t> head{0};  // the reader has read up to here
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

    // Publishes the record that reserve(payload_bytes) returned. The store is sequentially
    // consistent: a look at whether the reader sleeps, after it, cannot miss a reader that fell
    // asleep without seeing the record. It costs least here, where the writer waits for the peer
    // anyway.
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
        // The next record probably takes one slot. Clearing the word behind it now saves that
        // message the transfer of a cache line.
        if (end + 2 * slot_bytes <= head_seen_ + ring_.capacity) {
            cleared_ = end + slot_bytes;
            clear(cleared_);
        }
    }

    // After reserve() has failed: asks the reader for a wake-up when there is room. True: there
    // already is.
    bool ask_for_room(std::size_t payload_bytes);
    // The same for a writer with at most `bytes` in flight.
    bool ask_until_in_flight(std::size_t bytes);

    // Up to where records are published.
    std::uint64_t position() const { return tail_; }
    // Bytes published and not yet known to be consumed.
    std::size_t in_flight() const { return tail_ - head_seen_; }
    // As in_flight(), with the reader's current position.
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
    std::uint64_t cleared_ = 0;    // besides tail_, a position whose word is known to be 0
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

    // Whether some record that has not been popped is like that.
    template <class Wanted>
    bool any(Wanted wanted) const {
        std::uint64_t position = position_;
        while (true) {
            Record* record = ring_.at(position);
            const RecordKind kind = record->kind(std::memory_order_seq_cst);
            if (kind == RecordKind::none) return false;
            if (kind != RecordKind::skip && wanted(kind, *record)) return true;
            position += kind == RecordKind::skip ? ring_.bytes_to_end(position)
                                                 : record_span(record->bytes);
        }
    }

    // Up to where records have been popped.
    std::uint64_t position() const { return position_; }

    // Gives the record's room back: in steps, so that the writer's cache line is rarely taken from
    // it. True: a writer waits for room and must be woken if it sleeps, which pays only for a good
    // part of the ring.
    [[nodiscard]] bool pop(Record* record) {
        position_ += record_span(record->bytes);
        if (position_ - published_ < ring_.capacity / 16) [[likely]]
            return false;
        if (position_ - offered_ >= ring_.capacity / 4) return publish();
        published_ = position_;
        ring_.control->head.store(position_, std::memory_order_release);
        return false;
    }

    // Reports to the writer how many of its bytes were unexpected.
    void report_unexpected(std::uint64_t bytes) {
        ring_.control->unexpected.store(bytes, std::memory_order_relaxed);
    }

    // When there is no record: a waiting writer gets all the room. Returns as pop().
    [[nodiscard]] bool yield_room() {
        return position_ != offered_ &&
               ring_.control->blocked.load(std::memory_order_relaxed) != 0 && publish();
    }

    // Before the reader sleeps: all room is given back. Returns as pop().
    [[nodiscard]] bool offer_room() { return position_ != offered_ && publish(); }

  private:
    bool publish();

    RingMemory ring_;
    std::uint64_t position_ = 0;
    std::uint64_t published_ = 0;  // the position as stored for the writer
    std::uint64_t offered_ = 0;    // ... and looked whether the writer waits
};

}  // namespace weft::shm
