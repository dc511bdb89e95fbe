// Barriers.
#include "algorithm/algorithm.h"
#include "algorithm/hierarchy.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void dissemination(const Problem& in, ScheduleBuilder& schedule) {
    const Region nothing;
    OpId heard = schedule.start();  // the messages of all earlier rounds have come
    const std::int64_t radix = in.agreed.tuning.radix();
    for (std::int64_t weight = 1; weight < in.ranks(); weight *= radix) {
        OpId arrived = heard;
        for (std::int64_t i = 1; i <= multiples_below(in.ranks(), weight, radix); ++i) {
            const auto distance = static_cast<Rank>(i * weight);
            schedule.send(nothing, around(in.rank, distance, in.ranks()), {heard});
            const OpId came = schedule.recv(nothing, around(in.rank, -distance, in.ranks()));
            arrived = arrived == no_op ? came : schedule.join({arrived, came});
        }
        heard = arrived;
    }
}

static std::int64_t dissemination_messages(const GlobalArgs& a) {
    return multiples_below(a.ranks, a.tuning.radix());
}

// Barrier by dissemination with k ports: in round j every rank sends an empty message to the ranks
// that are 1 to k times (k + 1)^j ahead, once the messages of the round before have come. After
// ceil(log_(k+1) ranks) rounds every rank has heard, directly or indirectly, from every other. Any
// number of ranks.
extern const Algorithm barrier_dissemination = {
    .name = "dissemination",
    .source =
        "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988, "
        "doi:10.1007/BF01379320",
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max = dissemination_messages,
    .sent_bytes_max = [](const GlobalArgs&) -> std::int64_t { return 0; },
    .build = dissemination,
};

static void hierarchical(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    const Region nothing;
    const Rank leader = at.leader_of(in.rank);
    if (in.rank != leader) {
        schedule.send(nothing, leader);
        bcast_in_node(at, in.rank, nothing, schedule.start(), schedule);
        return;
    }
    const Rank own = at.nodes.node_of(in.rank);
    const OpId entered = schedule.join({});  // see hierarchy.h
    {
        const auto among_leaders = schedule.within(at.leaders, entered);
        Problem leaders;
        leaders.agreed.ranks = at.nodes.nodes();
        leaders.rank = own;
        barrier_dissemination.build(leaders, schedule);
    }
    for (const Rank member : at.nodes.members(own)) {
        if (member != in.rank) schedule.order(schedule.recv(nothing, member), entered);
    }
    schedule.fence();
    bcast_in_node(at, in.rank, nothing, schedule.start(), schedule);
}

static std::int64_t hierarchical_messages(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return ceil_log2(nodes.nodes()) + ceil_log2(nodes.size_max());
}

// Barrier in three steps: a node's ranks report to their leader, the leaders synchronize by
// dissemination, and each leader releases its node. Any number of ranks and nodes.
extern const Algorithm barrier_hierarchical = {
    .name = "hierarchical",
    .source = zhu_2009,
    .follows_topology = true,
    .rounds =
        [](const GlobalArgs& a) {
            return Hierarchy(a).nodes.size_max() - 1 + hierarchical_messages(a);
        },
    .sent_messages_max = hierarchical_messages,
    .sent_bytes_max = [](const GlobalArgs&) -> std::int64_t { return 0; },
    .bytes_between_nodes = [](const GlobalArgs&) -> std::int64_t { return 0; },
    .build = hierarchical,
};

}  // namespace weft::algorithm
