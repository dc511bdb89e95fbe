#include "communicator/schedule_cache.h"

namespace weft {

ScheduleCache::Set& ScheduleCache::set_of(const Signature& s) {
    std::uint64_t hash = static_cast<std::uint64_t>(s.bytes) * 0x9e3779b97f4a7c15u;
    hash ^= static_cast<std::uint64_t>(s.collective) << 60 | std::uint64_t{s.in_place} << 59;
    hash ^= std::uint64_t{s.commutative} << 58;
    hash ^= static_cast<std::uint64_t>(s.root) * 0xbf58476d1ce4e5b9u;
    hash ^= static_cast<std::uint64_t>(s.element_bytes) << 52;
    return sets_[(hash >> 32 ^ hash >> 54) % sets];
}

Prepared* ScheduleCache::find(const Signature& signature) {
    for (const auto& entry : set_of(signature)) {
        if (entry && entry->signature == signature) {
            entry->last_used = ++uses_;
            return entry.get();
        }
    }
    return nullptr;
}

// Drops idle entries, the least recently used first, until the rest keeps to the limit.
void ScheduleCache::make_room() {
    while (true) {
        std::int64_t bytes = 0;
        std::unique_ptr<Prepared>* oldest = nullptr;
        for (Set& set : sets_) {
            for (auto& entry : set) {
                if (!entry) continue;
                bytes += entry->memory_bytes();
                if (entry->taken > 0) continue;
                if (!oldest || entry->last_used < (*oldest)->last_used) oldest = &entry;
            }
        }
        if (bytes <= memory_bytes_max || !oldest) return;
        oldest->reset();
    }
}

Prepared& ScheduleCache::insert(const Signature& signature, Schedule schedule) {
    make_room();
    auto made = std::make_unique<Prepared>(signature, std::move(schedule), table_);
    made->last_used = ++uses_;
    std::unique_ptr<Prepared>* room = nullptr;
    for (auto& entry : set_of(signature)) {
        if (!entry) {
            room = &entry;
            break;
        }
        if (entry->taken == 0 && (!room || entry->last_used < (*room)->last_used)) room = &entry;
    }
    if (!room) {
        made->cached = false;
        return *uncached_.emplace_back(std::move(made));
    }
    *room = std::move(made);
    return **room;
}

void ScheduleCache::give_back(Request& request) {
    Prepared& home = request.home;
    home.give_back(request);
    if (home.cached || home.taken > 0) return;
    std::erase_if(uncached_, [&](const auto& entry) { return entry.get() == &home; });
}

}  // namespace weft
