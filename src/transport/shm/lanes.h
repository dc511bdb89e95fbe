// The lanes from or to one peer.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/lane_table.h"
#include "transport/matching/matching_queue.h"
#include "transport/transport.h"

namespace weft::shm {

// A table of entries with ids. An id names one use of a slot, so an old id never finds a new entry.

// The slot's index, and which use of it. The peer sees both.
struct SlotId {
    std::uint32_t index = 0;
    std::uint32_t use = 0;  // 0: no slot

    std::uint64_t packed() const { return std::uint64_t{use} << 32 | index; }
    static SlotId unpack(std::uint64_t v) {
        return {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)};
    }
};

template <class T>
class Slots {
  public:
    // The next add() does not throw.
    void reserve() {
        if (!free_.empty()) return;
        if (entries_.size() == entries_.capacity()) entries_.reserve(2 * entries_.size() + 8);
        free_.reserve(entries_.capacity());  // so that remove() never allocates
        entries_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(entries_.size()) - 1);
    }

    SlotId add(T value) {
        reserve();
        const std::uint32_t index = free_.back();
        free_.pop_back();
        Slot& entry = entries_[index];
        if (++entry.use == 0) entry.use = 1;
        entry.taken = true;
        entry.value = std::move(value);
        return {index, entry.use};
    }

    // Null: that use of the slot has ended.
    T* find(SlotId id) {
        if (id.index >= entries_.size()) return nullptr;
        Slot& entry = entries_[id.index];
        return entry.taken && entry.use == id.use ? &entry.value : nullptr;
    }

    void remove(SlotId id) {
        entries_[id.index].taken = false;
        free_.push_back(id.index);
    }

    // How many entries there are.
    std::size_t size() const { return entries_.size() - free_.size(); }

    // Calls visit(id, value); it may remove that entry.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint32_t i = 0; i < entries_.size(); ++i)
            if (entries_[i].taken) visit(SlotId{i, entries_[i].use}, entries_[i].value);
    }

  private:
    struct Slot {
        std::uint32_t use = 0;
        bool taken = false;
        T value{};
    };

    std::vector<Slot> entries_;
    std::vector<std::uint32_t> free_;
};

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read
    std::size_t bytes = 0;
    Token token{};
    std::uint64_t stream = 0;
    bool needs_cts = false;  // a send: not eager
    bool is_over = false;
    Combination combination{};  // of a receive
    SlotId transfer{};          // of a send that needs a CTS
    Outcome outcome{};          // when it is over
};

// Ready to send: the content of an RTS for a large message that waits at its sender.
struct Rts {
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;  // in the sender's memory
    std::uint64_t transfer = 0;
};

// An unexpected message: it arrived before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;  // of `bytes` bytes; null: only its RTS came, or it is empty
    std::size_t bytes = 0;
    bool is_rts = false;      // it waits at its sender
    bool is_partial = false;  // it is being pushed
    Rts rts{};
};

using LaneQueue = MatchingQueue<Post, Unexpected>;
using Lanes = LaneTable<LaneQueue>;

}  // namespace weft::shm
