// Maps a handle of the MPI to what is known about it. Open addressing, at most half full.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weft::dropin {

// Variables that are never destroyed: a program may call MPI in an atexit() handler or a static
// destructor, which run after the destructors of libraries that it loaded later.
template <typename Value>
Value& lasting() {
    return *new Value;
}

template <typename Handle, typename Value>
class HandleMap {
  public:
    std::size_t size() const { return size_; }

    // Null: not there.
    Value* find(Handle handle) const {
        if (size_ == 0) return nullptr;
        for (std::size_t i = home(handle);; i = next(i)) {
            if (!places_[i].value) return nullptr;
            if (places_[i].handle == handle) return places_[i].value;
        }
    }

    // So many can be added, together with those in the map, without more memory.
    void reserve(std::size_t size) {
        while (2 * size > places_.size()) grow();
    }

    // REQUIRES: the handle is not in the map.
    void add(Handle handle, Value* value) {
        reserve(size_ + 1);
        put(handle, value);
        ++size_;
    }

    void remove(Handle handle) {
        if (size_ == 0) return;
        std::size_t i = home(handle);
        while (places_[i].value && !(places_[i].handle == handle)) i = next(i);
        if (!places_[i].value) return;
        --size_;
        // Closes the gap: moves back entries that were put behind their home because this place was
        // taken.
        for (std::size_t j = next(i); places_[j].value; j = next(j)) {
            const std::size_t wanted = home(places_[j].handle);
            const std::size_t mask = places_.size() - 1;
            if (((j - wanted) & mask) < ((j - i) & mask)) continue;
            places_[i] = places_[j];
            i = j;
        }
        places_[i] = {};
    }

    template <typename Visit>
    void for_each(Visit visit) const {
        for (const Slot& place : places_) {
            if (place.value) visit(*place.value);
        }
    }

  private:
    struct Slot {
        Handle handle{};
        Value* value = nullptr;
    };

    std::size_t home(Handle handle) const {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &handle, sizeof handle);
        return static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15u) >> 32) & (places_.size() - 1);
    }
    std::size_t next(std::size_t i) const { return (i + 1) & (places_.size() - 1); }
    void put(Handle handle, Value* value) {
        std::size_t i = home(handle);
        while (places_[i].value) i = next(i);
        places_[i] = {handle, value};
    }
    void grow() {
        std::vector<Slot> old(places_.empty() ? 64 : 2 * places_.size());
        old.swap(places_);
        for (const Slot& place : old) {
            if (place.value) put(place.handle, place.value);
        }
    }

    std::vector<Slot> places_;
    std::size_t size_ = 0;
};

}  // namespace weft::dropin
