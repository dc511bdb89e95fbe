// Barrier in three steps: a node's ranks report to their leader, the leaders synchronize by
// dissemination, and each leader releases its node. Any number of ranks and nodes.
#include "algorithm/hierarchy.h"
#include "shape/power.h"

namespace weft::algorithm {

extern const Algorithm barrier_dissemination;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    const Region nothing;
    const Rank leader = at.leader_of(in.rank);
    if (in.rank != leader) {
        schedule.send(nothing, leader);
        bcast_in_node(at, in.rank, nothing, schedule.start(), schedule);
        return ok;
    }
    const Rank own = at.nodes.node_of(in.rank);
    const OpId entered = schedule.join({});  // see hierarchy.h
    {
        const auto among_leaders = schedule.within(at.leaders, entered);
        Problem leaders;
        leaders.agreed.ranks = at.nodes.nodes();
        leaders.rank = own;
        WEFT_RETURN_IF_NOT_OK(barrier_dissemination.build(leaders, schedule));
    }
    for (const Rank member : at.nodes.members(own)) {
        if (member != in.rank) schedule.order(schedule.recv(nothing, member), entered);
    }
    schedule.fence();
    bcast_in_node(at, in.rank, nothing, schedule.start(), schedule);
    return ok;
}

std::int64_t sent_messages(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return ceil_log2(nodes.nodes()) + ceil_log2(nodes.size_max());
}

}  // namespace

extern const Algorithm barrier_hierarchical = {
    .name = "hierarchical",
    .source =
        "Zhu, Goodell, Gropp, Thakur: Hierarchical Collectives in MPICH2, 2009, "
        "doi:10.1007/978-3-642-03770-2_41",
    .follows_topology = true,
    .rounds = [](const Agreed& a) { return Hierarchy(a).nodes.size_max() - 1 + sent_messages(a); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed&) -> std::int64_t { return 0; },
    .bytes_between_nodes = [](const Agreed&) -> std::int64_t { return 0; },
    .build = build,
};

}  // namespace weft::algorithm
