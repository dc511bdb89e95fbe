// Allgather in four steps, with every node's ranks divided into the same number of groups, of about
// four ranks on the smallest node, or as many as `leaders` says: a group's leader gathers; the
// leaders of all nodes' first groups exchange what they have, and so do those of the second groups,
// and so on; then the leaders of a node exchange the results, and each broadcasts all blocks in its
// group. Between nodes each block moves once to every node, and a node's leaders share the work.
// Any number of ranks and nodes.
#include <algorithm>

#include "algorithm/allgather/leaders.h"
#include "shape/blocks.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

constexpr Rank ranks_per_group = 4;

// How many groups a node is divided into: the same number on all nodes.
Rank groups_per_node(const GlobalArgs& a, const Topology& nodes) {
    Rank least = nodes.ranks();
    for (Rank node = 0; node < nodes.nodes(); ++node) least = std::min(least, nodes.size(node));
    if (a.tuning.leaders > 0) return std::min(static_cast<Rank>(a.tuning.leaders), least);
    return (least + ranks_per_group - 1) / ranks_per_group;
}

struct Groups {
    explicit Groups(const GlobalArgs& a)
        : nodes(Hierarchy(a).nodes), per_node(groups_per_node(a, nodes)) {}

    Topology nodes;
    Rank per_node;
    Hierarchy all{nodes.divided(std::vector(static_cast<std::size_t>(nodes.nodes()), per_node))};

    // A node's group, from 0 to per_node - 1.
    std::span<const Rank> group(Rank node, Rank number) const {
        const Block part = block_of(nodes.size(node), per_node, number);
        return nodes.members(node).subspan(static_cast<std::size_t>(part.first),
                                           static_cast<std::size_t>(part.count));
    }
    Rank leader(Rank node, Rank number) const { return all.leader_of(group(node, number).front()); }
};

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Groups at(in.agreed);
    if (in.rank != at.all.leader_of(in.rank)) {
        allgather_by_leader(in, at.all, schedule);
        return;
    }
    const Rank node = at.nodes.node_of(in.rank);
    Rank number = 0;
    while (at.leader(node, number) != in.rank) ++number;
    std::vector<std::span<const Rank>> groups;
    std::vector<Rank> of_all_nodes;
    std::vector<Rank> of_this_node;
    for (Rank i = 0; i < at.per_node; ++i) {
        of_this_node.push_back(at.leader(node, i));
        for (Rank n = 0; n < at.nodes.nodes(); ++n) groups.push_back(at.group(n, i));
    }
    for (Rank n = 0; n < at.nodes.nodes(); ++n) of_all_nodes.push_back(at.leader(n, number));

    const Grouped blocks(in, std::move(groups), schedule);
    const Rank first = number * at.nodes.nodes();
    const OpId gathered = schedule.join({});  // see hierarchy.h
    blocks.exchange({of_all_nodes, node, first, 1}, gathered, schedule);
    const OpId there = schedule.written(blocks.blocks(first, at.nodes.nodes()));
    const OpId ready = schedule.join({gathered, there});
    blocks.exchange({of_this_node, number, 0, at.nodes.nodes()}, ready, schedule);
    blocks.gather(first + node, gathered, schedule);
    blocks.put_in_order(schedule);
    bcast_in_node(at.all, in.rank, in.recv.all(), schedule.written(in.recv.all()), schedule);
}

std::int64_t messages(const GlobalArgs& a) {
    const Groups at(a);
    return ceil_log2(at.nodes.nodes()) + ceil_log2(at.per_node) +
           ceil_log2(at.all.nodes.size_max());
}

// Calls f(count) for each message of a rank in Bruck's algorithm, of `count` blocks.
template <class F>
void for_each_bruck_message(Rank ranks, F f) {
    for (std::int64_t step = 1; step < ranks; step *= 2)
        f(static_cast<Rank>(std::min(step, ranks - step)));
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    const Groups at(a);
    const Rank nodes = at.nodes.nodes();
    const auto size = [&](Rank node, Rank number) {
        return static_cast<std::int64_t>(at.group(node, number).size());
    };
    std::int64_t most = 0;
    for (Rank node = 0; node < nodes; ++node) {
        for (Rank number = 0; number < at.per_node; ++number) {
            std::int64_t blocks =
                ceil_log2(static_cast<Rank>(size(node, number))) * std::int64_t{a.ranks};
            for_each_bruck_message(nodes, [&](Rank count) {
                for (Rank i = 0; i < count; ++i) blocks += size(around(node, i, nodes), number);
            });
            for_each_bruck_message(at.per_node, [&](Rank count) {
                for (Rank i = 0; i < count; ++i) {
                    for (Rank n = 0; n < nodes; ++n)
                        blocks += size(n, around(number, i, at.per_node));
                }
            });
            most = std::max(most, blocks);
        }
    }
    return a.bytes * most;
}

}  // namespace

extern const Algorithm allgather_multi_group = {
    .name = "multi_group",
    .source =
        "Inozemtsev, Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using "
        "CORE-Direct, IEEE CLUSTER 2012, section VI.G, after Qian and Afsahi (no DOI that could be "
        "checked)",
    .tunes = Tunes::groups,
    .follows_topology = true,
    .rounds = [](const GlobalArgs& a) { return Groups(a).all.nodes.size_max() - 1 + messages(a); },
    .sent_messages_max = messages,
    .sent_bytes_max = sent_bytes,
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.total_bytes() * (Hierarchy(a).nodes.nodes() - 1); },
    .build = build,
};

}  // namespace weft::algorithm
