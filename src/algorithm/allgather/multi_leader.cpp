// Allgather in three steps, with several leaders per node: each gathers the blocks of its part of
// the node's ranks, all leaders exchange them, by Bruck's algorithm or another flat one (`inner`),
// and each broadcasts all blocks to its ranks. There is a leader for every four ranks, or as many
// per node as `leaders` says. Any number of ranks and nodes.
#include <algorithm>

#include "algorithm/allgather/leaders.h"

namespace weft::algorithm {
namespace {

constexpr Rank ranks_per_leader = 4;

Hierarchy groups_of(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    std::vector<Rank> leaders;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const Rank ranks = nodes.size(node);
        leaders.push_back(a.tuning.leaders > 0
                              ? std::min(static_cast<Rank>(a.tuning.leaders), ranks)
                              : (ranks + ranks_per_leader - 1) / ranks_per_leader);
    }
    return Hierarchy(nodes.divided(leaders));
}

LeadersCost cost(const Agreed& a) { return cost_by_leaders(a, groups_of(a), Hierarchy(a).nodes); }

}  // namespace

extern const Algorithm allgather_multi_leader = {
    .name = "multi_leader",
    .source =
        "Kandalla, Subramoni, Santhanaraman, Koop, Panda: Designing Multi-Leader-Based Allgather "
        "Algorithms for Multi-Core Clusters, IPDPS 2009, workshop CAC (no DOI that could be "
        "checked)",
    .tunes = Tunes::leaders,
    .follows_topology = true,
    .leaders = [](const Agreed& a) { return groups_of(a).nodes.nodes(); },
    .rounds = [](const Agreed& a) { return cost(a).rounds; },
    .sent_messages_max = [](const Agreed& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * cost(a).blocks_max; },
    .bytes_between_nodes = [](const Agreed& a) { return a.bytes * cost(a).blocks_between_nodes; },
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            return allgather_by_leaders(in, groups_of(in.agreed), schedule);
        },
};

}  // namespace weft::algorithm
