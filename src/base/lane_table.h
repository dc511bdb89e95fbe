// A table from stream to lane: the state of each lane from or to one peer.
//
// `Lane` has members `std::uint64_t stream` and `bool used`, and `idle()`: it may be forgotten and
// made again.
//
// Thread safety: none. References are valid until the next find().
// A new lane may need memory, except that of stream 0, by which ranks tell each other of failures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace weft {

template <class Lane>
class LaneTable {
  public:
    static constexpr std::size_t size_min = 16;

    LaneTable() : table_(size_min) {}
    LaneTable(LaneTable&&) = default;  // does not move the entries: last_ stays valid
    LaneTable& operator=(LaneTable&&) = default;

    // The lane of this stream; makes one if there is none, and throws if there is no memory for it.
    Lane& find(std::uint64_t stream) {
        if (last_->used && last_->stream == stream) [[likely]]
            return *last_;
        if (Lane* lane = search(stream)) return *lane;
        throw std::bad_alloc();
    }
    // The same; null: there is no memory for it.
    Lane* try_find(std::uint64_t stream) {
        if (last_->used && last_->stream == stream) [[likely]]
            return last_;
        return search(stream);
    }

    // As find(), but null instead of a new lane.
    Lane* find_existing(std::uint64_t stream) {
        Lane& lane = table_[place_of(stream)];
        return lane.used ? &lane : nullptr;
    }

    template <class Visit>
    void for_each(Visit visit) {
        for (Lane& lane : table_)
            if (lane.used) visit(lane);
    }

    template <class Wanted>
    bool any(Wanted wanted) const {
        return std::ranges::any_of(table_,
                                   [&](const Lane& lane) { return lane.used && wanted(lane); });
    }

    std::size_t size() const { return used_; }
    std::size_t held_bytes() const {
        return (table_.capacity() + spare_.capacity()) * sizeof(Lane);
    }

  private:
    // The stream's entry, or the free one where it belongs. The table is never full.
    std::size_t place_of(std::uint64_t stream) const {
        const std::size_t mask = table_.size() - 1;
        const std::uint64_t mixed = stream * 0x9e3779b97f4a7c15u;
        std::size_t place = static_cast<std::size_t>(mixed >> 32) & mask;
        while (table_[place].used && table_[place].stream != stream) place = (place + 1) & mask;
        return place;
    }

    Lane* search(std::uint64_t stream) {
        std::size_t place = place_of(stream);
        if (!table_[place].used) {
            if (4 * (used_ + 1) > 3 * table_.size()) {
                // Without memory the table becomes fuller; its last free place is for stream 0.
                if (!rebuild() && used_ + (stream == 0 ? 1 : 2) >= table_.size()) return nullptr;
                place = place_of(stream);
            }
            table_[place].used = true;
            table_[place].stream = stream;
            ++used_;
        }
        return last_ = &table_[place];
    }

    // Forgets idle lanes, so that a program that makes and frees streams forever does not fill the
    // table. Two tables take turns and never shrink, so that using many streams one after the other
    // allocates nothing. False: out of memory.
    bool rebuild() {
        std::size_t busy = 0;
        for (const Lane& lane : table_) busy += lane.used && !lane.idle();
        std::size_t size = table_.size();
        while (size < 2 * (busy + 1)) size *= 2;

        try {
            spare_.assign(size, {});
        } catch (const std::bad_alloc&) {
            return false;
        }
        spare_.swap(table_);
        used_ = 0;
        for (const Lane& lane : spare_) {
            if (!lane.used || lane.idle()) continue;
            table_[place_of(lane.stream)] = lane;
            ++used_;
        }
        last_ = table_.data();
        return true;
    }

    std::vector<Lane> table_;  // open addressing; a power of two
    std::vector<Lane> spare_;  // the table before the last rebuild
    std::size_t used_ = 0;
    Lane* last_ = table_.data();
};

}  // namespace weft
