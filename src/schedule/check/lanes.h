// The messages of a lane, in the order in which they are issued.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft::checking {

// The index of a lane in schedule.lanes(); -1: none.
std::int32_t find_lane(const Schedule& schedule, Rank peer, bool sends);

// The operations of every lane. The issue edges that seal() derives keep them in this order.
class LaneOps {
  public:
    explicit LaneOps(const Schedule& schedule);

    std::span<const OpId> of(std::size_t lane) const {
        return {ops_.data() + begin_[lane], begin_[lane + 1] - begin_[lane]};
    }

  private:
    std::vector<std::size_t> begin_;
    std::vector<OpId> ops_;
};

// Visits the messages of a lane in order, inside repeats iteration by iteration.
class LaneCursor {
  public:
    LaneCursor(const Schedule& schedule, std::span<const OpId> ops)
        : schedule_(schedule), ops_(ops) {
        enter();
    }

    bool is_at_end() const { return at_ == ops_.size(); }
    OpId op() const { return ops_[at_]; }
    std::int64_t iteration() const { return iteration_; }
    std::int64_t bytes() const {
        const std::int64_t full = schedule_.ops()[op()].bytes;
        const bool is_last = repeat_ && iteration_ == repeat_->iterations - 1;
        return is_last ? full - repeat_->short_bytes : full;
    }

    void advance() {
        if (++at_ < end_) return;
        if (repeat_ && ++iteration_ < repeat_->iterations) {
            at_ = begin_;
        } else {
            enter();
        }
    }

  private:
    // Finds the messages from at_ on that are in one repeat; outside repeats, one message.
    void enter() {
        iteration_ = 0;
        begin_ = end_ = at_;
        repeat_ = is_at_end() ? nullptr : schedule_.repeat_of(op());
        if (is_at_end()) return;
        ++end_;
        while (repeat_ && end_ < ops_.size() && repeat_->holds(ops_[end_])) ++end_;
    }

    const Schedule& schedule_;
    std::span<const OpId> ops_;
    const Repeat* repeat_ = nullptr;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::int64_t iteration_ = 0;
};

}  // namespace weft::checking
