// The events of a simulation in the order of their times; of equal times, in the order of pushing.
//
// A radix heap: bucket k > 0 has the times whose highest bit that differs from `last_` is bit k -
// 1. Only the lowest bucket is ever looked into: it is sorted if it is small, otherwise dealt to
// those below it.
// Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace weft::simulate {

struct SimEvent {
    std::int64_t time_ps;
    std::uint32_t rank;
    std::uint32_t what;
};

class EventQueue {
  public:
    // REQUIRES: no time is before that of the last event popped.
    void push(SimEvent event) {
        if (event.time_ps < limit_) {
            late_.push_back({event, pushed_late_++});
            std::ranges::push_heap(late_, Later{});
            return;
        }
        put(event);
    }

    bool is_empty() {
        if (next_ < run_.size() || !late_.empty()) return false;
        open_lowest_bucket();
        return next_ == run_.size();
    }

    // REQUIRES: is_empty() was just called, and was false.
    std::int64_t next_time_ps() const {
        return run_is_first() ? run_[next_].time_ps : late_.front().event.time_ps;
    }

    // REQUIRES: is_empty() was just called, and was false.
    SimEvent pop() {
        if (run_is_first()) return run_[next_++];
        std::ranges::pop_heap(late_, Later{});
        const SimEvent event = late_.back().event;
        late_.pop_back();
        return event;
    }

    // Probably one of the next events; null: unknown.
    const SimEvent* ahead(std::size_t distance) const {
        return next_ + distance < run_.size() ? &run_[next_ + distance] : nullptr;
    }

  private:
    static constexpr std::size_t sorted_max = 2048;

    struct LateEvent {
        SimEvent event;
        std::uint64_t number;
    };
    struct Later {
        bool operator()(const LateEvent& a, const LateEvent& b) const {
            return a.event.time_ps != b.event.time_ps ? a.event.time_ps > b.event.time_ps
                                                      : a.number > b.number;
        }
    };

    // What is late was pushed after all of the run.
    bool run_is_first() const {
        return late_.empty() ||
               (next_ < run_.size() && run_[next_].time_ps <= late_.front().event.time_ps);
    }

    std::size_t bucket_of(std::int64_t time_ps) const {
        return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time_ps) ^
                                                       static_cast<std::uint64_t>(last_)));
    }

    void put(SimEvent event) { buckets_[bucket_of(event.time_ps)].push_back(event); }

    // Keeps memory for the next use, unless it is much.
    static void empty(std::vector<SimEvent>& events) {
        events.clear();
        if (events.capacity() > 4 * sorted_max) std::vector<SimEvent>().swap(events);
    }

    void open_lowest_bucket() {
        empty(run_);
        next_ = 0;
        std::size_t k = 0;
        while (k < buckets_.size() && buckets_[k].empty()) ++k;
        if (k == buckets_.size()) return;
        if (buckets_[k].size() <= sorted_max) {
            run_.swap(buckets_[k]);
            std::ranges::stable_sort(run_, {}, &SimEvent::time_ps);
            last_ = run_.front().time_ps;
            // The bucket's times have all bits but the lowest k - 1 in common.
            limit_ = k == 0 ? last_ + 1 : ((last_ >> (k - 1)) + 1) << (k - 1);
            return;
        }
        last_ = std::ranges::min(buckets_[k], {}, &SimEvent::time_ps).time_ps;
        limit_ = last_ + 1;
        if (k > 0) {
            for (const SimEvent& event : buckets_[k]) put(event);
            empty(buckets_[k]);
        }
        run_.swap(buckets_[0]);
    }

    std::array<std::vector<SimEvent>, 64> buckets_;
    std::int64_t last_ = 0;
    std::int64_t limit_ = 0;     // what is earlier goes among the late ones
    std::vector<SimEvent> run_;  // in order; popped up to next_
    std::size_t next_ = 0;
    std::vector<LateEvent> late_;  // a heap: pushed after their bucket was opened
    std::uint64_t pushed_late_ = 0;
};

}  // namespace weft::simulate
