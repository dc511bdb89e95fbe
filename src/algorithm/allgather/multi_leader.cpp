// Allgather in three steps, with several leaders a node: a leader for every four ranks gathers
// their blocks, all leaders exchange them by Bruck's algorithm, and each broadcasts all blocks to
// its ranks. Any number of ranks and nodes.
#include "algorithm/allgather/leaders.h"

namespace weft::algorithm {
namespace {

constexpr Rank ranks_per_leader = 4;

Hierarchy groups_of(const Topology& nodes) {
    std::vector<Rank> leaders;
    for (Rank node = 0; node < nodes.nodes(); ++node)
        leaders.push_back((nodes.size(node) + ranks_per_leader - 1) / ranks_per_leader);
    return Hierarchy(nodes.divided(leaders));
}

LeadersCost cost(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return cost_by_leaders(groups_of(nodes), nodes);
}

}  // namespace

extern const Algorithm allgather_multi_leader = {
    .name = "multi_leader",
    .source =
        "Kandalla, Subramoni, Santhanaraman, Koop, Panda: Designing Multi-Leader-Based Allgather "
        "Algorithms for Multi-Core Clusters, IPDPS 2009",
    .follows_topology = true,
    .rounds = [](const Agreed& a) { return cost(a).rounds; },
    .sent_messages_max = [](const Agreed& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * cost(a).blocks_max; },
    .bytes_between_nodes = [](const Agreed& a) { return a.bytes * cost(a).blocks_between_nodes; },
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            return allgather_by_leaders(in, groups_of(Hierarchy(in.agreed).nodes), schedule);
        },
};

}  // namespace weft::algorithm
