// Allgather in three steps: a node's leader gathers its ranks' blocks, the leaders exchange them,
// by Bruck's algorithm or another flat one (`inner`), and each leader broadcasts all blocks in its
// node. Any number of ranks and nodes; between nodes each block moves once to every node. With the
// ring, which is for large blocks, arriving blocks are broadcast at once if each node's ranks are
// consecutive.
#include "algorithm/allgather/leaders.h"

namespace weft::algorithm {
namespace {

LeadersCost cost(const Agreed& a) {
    const Hierarchy at(a);
    return cost_by_leaders(a, at, at.nodes);
}

}  // namespace

extern const Algorithm allgather_hierarchical = {
    .name = "hierarchical",
    .source =
        "Inozemtsev, Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using "
        "CORE-Direct, IEEE CLUSTER 2012, section IV.B (no DOI that could be "
        "checked)",
    .tunes = Tunes::inner,
    .follows_topology = true,
    .leaders = [](const Agreed& a) { return Hierarchy(a).nodes.nodes(); },
    .rounds = [](const Agreed& a) { return cost(a).rounds; },
    .sent_messages_max = [](const Agreed& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * cost(a).blocks_max; },
    .bytes_between_nodes =
        [](const Agreed& a) { return a.total_bytes() * (Hierarchy(a).nodes.nodes() - 1); },
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            return allgather_by_leaders(in, Hierarchy(in.agreed), schedule);
        },
};

}  // namespace weft::algorithm
