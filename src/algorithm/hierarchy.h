// Shared by two-level algorithms: steps within the nodes, and between their leaders.
//
// Leaders of smaller nodes are ready earlier. If all leaders exchange something (allgather,
// allreduce, alltoall, barrier), this comes first in the schedule: its operations then have the
// same numbers on all leaders, so their messages are issued step by step. It waits for a join,
// whose predecessors are added when the step within the node is built. A rank that sends something
// to its leader does so with its first operation, before any exchange.
#pragma once

#include <vector>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

// The nodes of a call, and a leader for each: the root if it is there, otherwise the rank on whose
// core the fewest others lead, of these the lowest. (Emulated nodes share cores, and leaders work
// most.)
struct Hierarchy {
    explicit Hierarchy(const GlobalArgs& agreed, Rank root = 0);
    explicit Hierarchy(Topology of, Rank root = 0);

    Topology nodes;
    std::vector<Rank> leaders;  // by node

    Rank leader_of(Rank rank) const {
        return leaders[static_cast<std::size_t>(nodes.node_of(rank))];
    }
};

// Passes `data` from the leader of a rank's node to the node's other ranks, as bcast_along does.
void bcast_in_node(const Hierarchy& in, Rank rank, Region data, OpId before,
                   ScheduleBuilder& schedule);

// Combines the operands `from` of a rank's node in `into` at its leader, as reduce_along does.
OpId reduce_in_node(const Hierarchy& in, Rank rank, Region from, Region into,
                    ScheduleBuilder& schedule);

// The algorithm by which leaders exchange; `usual` if the tuning names none.
inline const Algorithm& inner_of(const GlobalArgs& a, const Algorithm& usual) {
    return a.tuning.inner ? *a.tuning.inner : usual;
}

// Calls f(peer, bytes) for each message that a leader sends in a step among leaders.
template <class F>
void for_each_message(const Algorithm& step, const Problem& leader, F f) {
    Result<Schedule> schedule = build_rank(step, leader);
    WEFT_ASSERT(schedule.is_ok() && schedule->repeats().empty());
    for (const Op& op : schedule->ops()) {
        if (op.kind == OpKind::send) f(op.peer, op.bytes);
    }
}

// The bytes of all blocks that do not belong to ranks of the root's node.
std::int64_t bytes_beyond_the_root(const GlobalArgs& a);

// Calls f(place, first, ranks) for the consecutive ranks of a node, from the place of the first on.
template <class F>
void for_each_run(std::span<const Rank> members, F f) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= members.size(); ++i) {
        if (i < members.size() && members[i] == members[i - 1] + 1) continue;
        f(static_cast<Rank>(begin), members[begin], static_cast<Rank>(i - begin));
        begin = i;
    }
}

inline bool are_consecutive(std::span<const Rank> members) {
    return members.back() - members.front() + 1 == static_cast<Rank>(members.size());
}

}  // namespace weft::algorithm
