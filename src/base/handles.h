// Handles: numbers for objects that are given to the caller. The handle of a freed object is
// recognized.
//
// A handle holds the object's place and the generation of that place; renewing or removing an
// object invalidates its old handles. Handle 0 is never given out.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace weft {

static_assert(sizeof(std::uintptr_t) == 8, "handles hold 32 bits of place and 32 of generation");

template <class T>
class HandleTable {
  public:
    // The next add() does not throw.
    void reserve() {
        if (!free_.empty()) return;
        if (places_.size() == places_.capacity()) places_.reserve(2 * places_.size() + 8);
        free_.reserve(places_.capacity());  // so that remove() never allocates
    }

    // A place for `object`; find() knows its handle until renew() or remove().
    std::uint32_t add(T* object) {
        if (free_.empty()) {
            reserve();
            places_.push_back({object, 1});
            return static_cast<std::uint32_t>(places_.size()) - 1;
        }
        std::uint32_t place = free_.back();
        free_.pop_back();
        places_[place].object = object;
        return place;
    }

    std::uintptr_t handle(std::uint32_t place) const {
        return std::uintptr_t{places_[place].generation} << 32 | (place + 1);
    }

    // Null: the handle is not valid, or no longer valid.
    T* find(std::uintptr_t handle) const {
        auto place = static_cast<std::uint32_t>(handle) - 1;
        if (place >= places_.size() || places_[place].generation != handle >> 32) return nullptr;
        return places_[place].object;
    }

    // Calls f(object) for each.
    template <class F>
    void for_each(F f) const {
        for (const Slot& slot : places_) {
            if (slot.object) f(*slot.object);
        }
    }

    void renew(std::uint32_t place) {
        if (++places_[place].generation == 0) places_[place].generation = 1;
    }

    void remove(std::uint32_t place) {
        renew(place);
        places_[place].object = nullptr;
        free_.push_back(place);
    }

  private:
    struct Slot {
        T* object;
        std::uint32_t generation;
    };

    std::vector<Slot> places_;
    std::vector<std::uint32_t> free_;
};

}  // namespace weft
