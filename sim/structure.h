// What the schedules of many ranks have in common: kinds, bytes, dependencies and the numbers of
// lanes, but neither offsets nor peers. Ranks with equal structures share one.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft::simulate {

// An operation, in one iteration of its repeat.
struct OpInstance {
    OpId op = 0;
    std::int64_t iteration = 0;
};

// The lanes that go one way are numbered by their first message in the schedule.
class LaneMessages {
  public:
    std::size_t lanes() const { return begin_.size() - 1; }
    // The message that is number `index` of a lane.
    OpInstance message(std::size_t lane, std::uint64_t index) const;

  private:
    friend class Structure;

    // Messages of a lane that are next to each other: outside repeats, or of one.
    struct Stretched {
        std::uint64_t first = 0;  // number on the lane
        std::vector<OpId> ops;    // of one iteration
    };

    std::vector<std::uint32_t> begin_{0};  // into stretches_
    std::vector<Stretched> stretches_;
};

class Structure {
  public:
    explicit Structure(const Schedule& schedule, std::vector<std::uint64_t> key);

    // One rank's schedule, of which only what ranks have in common may be used.
    const Schedule& schedule() const { return schedule_; }
    const std::vector<std::uint64_t>& key() const { return key_; }

    std::uint32_t lane_of(OpId op) const { return lane_of_[op]; }
    const LaneMessages& sends() const { return sends_; }
    const LaneMessages& recvs() const { return recvs_; }

    std::int64_t bytes(OpInstance at) const {
        const Op& op = schedule_.ops()[at.op];
        if (schedule_.repeats().empty()) return op.bytes;
        return schedule_.at(at.op, at.iteration).bytes;
    }

    // The number of an operation's counter of missing predecessors. Without repeats only operations
    // with two or more have one; with repeats all have.
    static constexpr std::uint32_t no_counter = 0xffffffffu;
    std::uint32_t counter_of(OpId op) const { return counter_of_[op]; }
    std::uint32_t counters() const { return counters_; }  // outside repeats
    // A counter is a byte; otherwise it is a word.
    bool counts_in_bytes() const { return counts_in_bytes_; }

    std::int64_t bytes_max() const { return bytes_max_; }        // of a message
    std::int64_t op_bytes_max() const { return op_bytes_max_; }  // of any operation
    std::uint64_t instances() const { return instances_; }

  private:
    const Schedule schedule_;
    const std::vector<std::uint64_t> key_;
    std::vector<std::uint32_t> lane_of_;
    LaneMessages sends_;
    LaneMessages recvs_;
    std::vector<std::uint32_t> counter_of_;
    std::uint32_t counters_ = 0;
    bool counts_in_bytes_ = false;
    std::int64_t bytes_max_ = 0;
    std::int64_t op_bytes_max_ = 0;
    std::uint64_t instances_ = 0;
};

// A schedule's place among structures: its structure, and the peers of its lanes.
struct Interned {
    const Structure* structure = nullptr;
    std::span<const Rank> to;    // by lane
    std::span<const Rank> from;  // by lane
};

// Thread safety: none.
class StructureTable {
  public:
    // What is returned holds until the next call.
    Interned intern(const Schedule& schedule);

    std::size_t size() const { return structures_.size(); }

  private:
    std::deque<Structure> structures_;
    std::unordered_multimap<std::uint64_t, const Structure*> by_hash_;
    const Structure* last_ = nullptr;
    std::vector<std::uint64_t> key_;
    std::vector<std::int32_t> number_of_;  // by lane of the schedule
    std::vector<Rank> to_;
    std::vector<Rank> from_;
};

}  // namespace weft::simulate
