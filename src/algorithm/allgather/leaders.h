// Allgather in steps within groups of ranks, and between their leaders: shared by algorithms that
// differ only in the groups.
#pragma once

#include <span>
#include <vector>

#include "algorithm/hierarchy.h"

namespace weft::algorithm {

// All ranks' blocks, group by group, so that leaders exchange consecutive bytes: in the result if
// that is its order, otherwise in scratch.
class Grouped {
  public:
    // Groups are contiguous, in the order listed here.
    Grouped(const Problem& in, std::vector<std::span<const Rank>> groups,
            ScheduleBuilder& schedule);

    // The blocks of consecutive groups.
    Region blocks(Rank first, Rank groups) const;

    // An allgather among leaders, by Bruck's algorithm if the tuning names no other: leader number
    // `i` has `each` groups from first + i * each on, once `after` has completed. The caller is
    // number `own`.
    struct LeaderExchange {
        std::span<const Rank> leaders;
        Rank own;
        Rank first;
        Rank each;
    };
    void exchange(const LeaderExchange& among, OpId after, ScheduleBuilder& schedule) const;

    // The leader gets its group's blocks, before `gathered`.
    void gather(Rank group, OpId gathered, ScheduleBuilder& schedule) const;

    // Copies all blocks to their destinations, each group's when it has arrived.
    void put_in_order(ScheduleBuilder& schedule) const;

  private:
    const Problem& in_;
    std::vector<std::span<const Rank>> groups_;
    std::vector<Rank> ranks_before_;  // by group, and the number of all ranks
    bool is_result_;
    Region room_;
};

// A rank that is not a leader sends its block to the leader and gets all blocks in one message.
void allgather_by_leader(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule);

// A leader gathers, all leaders exchange what they have, and each broadcasts in its group: large
// blocks, and those of a ring, when they arrive.
void allgather_by_leaders(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule);

// The cost of that if the ranks are on these nodes, with Tuning::inner.
struct LeadersCost {
    std::int64_t rounds = 0;  // may be no_claim
    std::int64_t messages_max = 0;
    std::int64_t blocks_max = 0;            // sent by a rank
    std::int64_t blocks_between_nodes = 0;  // sent by all ranks
};
LeadersCost cost_by_leaders(const GlobalArgs& a, const Hierarchy& groups, const Topology& nodes);

}  // namespace weft::algorithm
