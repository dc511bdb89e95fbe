#include "communicator/schedule_cache.h"

#include <algorithm>

namespace weft {

ScheduleCache::Set& ScheduleCache::set_of(const Signature& call) {
    const std::uint64_t hash = hash_of(call);
    return sets_[(hash >> 32 ^ hash >> 54) % sets];
}

CachedSchedule* ScheduleCache::find(const Signature& call) {
    for (const auto& entry : set_of(call)) {
        if (entry && entry->signature == call) {
            entry->last_used = ++uses_;
            return entry.get();
        }
    }
    return nullptr;
}

// Drops idle entries, the least recently used first, until the others are within the limit.
void ScheduleCache::make_room() {
    while (true) {
        std::int64_t bytes = 0;
        std::unique_ptr<CachedSchedule>* oldest = nullptr;
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

CachedSchedule& ScheduleCache::insert(const Signature& call, BufferUses buffers,
                                      Schedule schedule) {
    make_room();
    auto made =
        std::make_unique<CachedSchedule>(call, std::move(buffers), std::move(schedule), table_);
    made->last_used = ++uses_;
    Set& set = set_of(call);
    auto goes_first = [](const auto& left, const auto& right) {
        if (!left || !right) return !left && right;
        if ((left->taken == 0) != (right->taken == 0)) return left->taken == 0;
        return left->last_used < right->last_used;
    };
    auto room = std::ranges::min_element(set, goes_first);
    if (*room && (*room)->taken > 0) {
        dropped_.emplace_back();
        dropped_.back() = std::move(*room);
        dropped_.back()->dropped = true;
    }
    *room = std::move(made);
    return **room;
}

void ScheduleCache::give_back(Request& request) {
    CachedSchedule& home = request.home;
    home.give_back(request);
    end_if_unused(home);
}

ScheduleCache::Contents ScheduleCache::contents() const {
    Contents all;
    for (const Set& set : sets_) {
        for (const auto& entry : set) {
            if (!entry) continue;
            ++all.schedules;
            all.memory_bytes += entry->memory_bytes();
        }
    }
    return all;
}

CachedSchedule& ScheduleCache::keep(Schedule schedule, std::vector<UserCall> calls) {
    dropped_.push_back(
        std::make_unique<CachedSchedule>(std::move(schedule), std::move(calls), table_));
    CachedSchedule& own = *dropped_.back();
    own.dropped = true;
    own.taken = 1;
    return own;
}

void ScheduleCache::let_go(CachedSchedule& own) {
    --own.taken;
    end_if_unused(own);
}

void ScheduleCache::end_if_unused(CachedSchedule& prepared) {
    if (!prepared.dropped || prepared.taken > 0) return;
    auto place = std::ranges::find(dropped_, &prepared, &std::unique_ptr<CachedSchedule>::get);
    std::swap(*place, dropped_.back());
    dropped_.pop_back();
}

}  // namespace weft
