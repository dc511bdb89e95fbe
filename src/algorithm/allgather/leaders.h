// Allgather in three steps, shared by algorithms that differ in the groups: a group's leader gathers
// its members' blocks, the leaders exchange what they have, and each leader broadcasts in its group.
#pragma once

#include "algorithm/hierarchy.h"

namespace weft::algorithm {

Status allgather_by_leaders(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule);

// What it costs if the groups are those of `hierarchy`.
struct LeadersCost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
    std::int64_t blocks_max = 0;  // sent by a rank
};
LeadersCost cost_by_leaders(const Hierarchy& groups);

}  // namespace weft::algorithm
