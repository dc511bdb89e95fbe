// Allgathers in which leaders of nodes exchange the blocks of their nodes.
#include <algorithm>
#include <utility>

#include "algorithm/algorithms.h"
#include "algorithm/allgather/leaders.h"
#include "shape/power.h"

namespace weft::algorithm {

// A leader's part in an allgather among leaders, of blocks that lie in `room`.
static Problem part_of_leader(BlockList blocks, Region room, Rank own, std::uint32_t ports) {
    Problem part;
    part.agreed.ranks = static_cast<Rank>(blocks.sizes.size());
    part.agreed.sizes = blocks.sizes;
    part.agreed.tuning.ports = ports;
    part.rank = own;
    part.in_place = true;
    part.recv = {room.buffer, part.agreed.ranks, room.offset, 0, blocks};
    const Region block = part.recv.block(own);
    part.send = {block.buffer, 1, block.offset, block.bytes};
    return part;
}

Grouped::Grouped(const Problem& in, std::vector<std::span<const Rank>> groups,
                 ScheduleBuilder& schedule)
    : in_(in), groups_(std::move(groups)) {
    std::vector<Rank> order;
    for (const std::span<const Rank> group : groups_) {
        ranks_before_.push_back(static_cast<Rank>(order.size()));
        order.insert(order.end(), group.begin(), group.end());
    }
    ranks_before_.push_back(static_cast<Rank>(order.size()));
    is_result_ = std::ranges::is_sorted(order);
    room_ = is_result_ ? in.recv.all() : schedule.scratch(in.recv.all().bytes);
}

Region Grouped::blocks(Rank first, Rank groups) const {
    const Rank begin = ranks_before_[static_cast<std::size_t>(first)];
    const Rank end = ranks_before_[static_cast<std::size_t>(first + groups)];
    return room_.part(begin * in_.recv.bytes, (end - begin) * in_.recv.bytes);
}

void Grouped::exchange(const LeaderExchange& among, OpId after, ScheduleBuilder& schedule) const {
    const auto leaders = static_cast<Rank>(among.leaders.size());
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    for (Rank i = 0; i < leaders; ++i) {
        const Region block = blocks(among.first + i * among.each, among.each);
        sizes.push_back(block.bytes);
        offsets.push_back(block.offset - room_.offset);
    }
    const auto among_leaders = schedule.within(among.leaders, after);
    inner_of(in_.agreed, allgather_bruck)
        .build(part_of_leader({sizes, offsets}, room_, among.own, in_.agreed.tuning.ports),
               schedule);
}

void Grouped::gather(Rank group, OpId gathered, ScheduleBuilder& schedule) const {
    Region block = blocks(group, 1).part(0, in_.recv.bytes);
    for (const Rank member : groups_[static_cast<std::size_t>(group)]) {
        if (member != in_.rank) {
            schedule.order(schedule.recv(block, member), gathered);
        } else if (block != in_.send.block()) {
            schedule.order(schedule.copy(in_.send.block(), block), gathered);
        }
        block.offset += block.bytes;
    }
}

void Grouped::put_in_order(ScheduleBuilder& schedule) const {
    if (is_result_) return;
    // Found before the copies are added, so that written() need not look through them.
    std::vector<OpId> arrived;
    for (Rank group = 0; group < std::ssize(groups_); ++group)
        arrived.push_back(schedule.written(blocks(group, 1)));
    for (Rank group = 0; group < std::ssize(groups_); ++group) {
        const Region from = blocks(group, 1);
        const OpId there = arrived[static_cast<std::size_t>(group)];
        const auto copy_run = [&](Rank place, Rank first, Rank ranks) {
            const Region run = in_.recv.blocks(first, ranks);
            schedule.copy(from.part(place * in_.recv.bytes, run.bytes), run, {there});
        };
        for_each_run(groups_[static_cast<std::size_t>(group)], copy_run);
    }
}

namespace {

// The blocks of all groups, one after the other, where the unit is a rank's block.
struct BlocksOfGroups {
    explicit BlocksOfGroups(const Topology& groups) {
        for (Rank group = 0; group < groups.nodes(); ++group) {
            offsets.push_back(group == 0 ? 0 : offsets.back() + sizes.back());
            sizes.push_back(groups.size(group));
        }
    }
    Problem part_of(Rank leader, std::uint32_t ports) const {
        return part_of_leader({sizes, offsets}, {Buffer::recv, 0, 0}, leader, ports);
    }

    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
};

struct ConsecutiveBlocks {
    Rank first;
    Rank number;
};

// A group's blocks. Below, what more messages within a node cost is more than what they win.
constexpr std::int64_t passed_on_bytes_min = 64 * 1024;

// Whether blocks are passed on as they arrive: large ones, and those of a ring, which is for large
// ones. They must be contiguous.
bool passes_on_each(const GlobalArgs& a, const Topology& groups) {
    const bool are_large = a.total_bytes() >= passed_on_bytes_min * groups.nodes();
    if (groups.nodes() == 1 || !(are_large || a.tuning.inner == &allgather_ring)) return false;
    for (Rank group = 0; group < groups.nodes(); ++group)
        if (!are_consecutive(groups.members(group))) return false;
    return true;
}

// The pieces in which a group's leader passes on all blocks, in the order in which it has them: its
// group's own blocks, and what each operation of the exchange among leaders puts in its place.
std::vector<ConsecutiveBlocks> pieces_for(const GlobalArgs& a, const Topology& groups, Rank own) {
    if (!passes_on_each(a, groups)) return {{0, a.ranks}};
    const BlocksOfGroups blocks(groups);
    Result<Schedule> built =
        build_rank(inner_of(a, allgather_bruck), blocks.part_of(own, a.tuning.ports));
    WEFT_ASSERT(built.is_ok() && built->repeats().empty());
    const Schedule& exchange = *built;
    // By operation: after how many of the receives. By piece: the same, and where it is.
    std::vector<Rank> after(exchange.ops().size());
    std::vector<std::pair<Rank, ConsecutiveBlocks>> pieces;
    Rank receives = 0;
    const auto add = [&](Rank when, std::int64_t first, std::int64_t number) {
        pieces.push_back({when, {static_cast<Rank>(first), static_cast<Rank>(number)}});
    };
    const auto n = static_cast<std::size_t>(own);
    add(0, blocks.offsets[n], blocks.sizes[n]);
    for (OpId id = 0; id < exchange.ops().size(); ++id) {
        const Op& op = exchange.ops()[id];
        if (op.kind == OpKind::recv) after[id] = std::max(after[id], ++receives);
        if (op.writes() && op.into_buffer == Buffer::recv) add(after[id], op.into_offset, op.bytes);
        for (const Edge& edge : exchange.after_completion(id))
            after[edge.to] = std::max(after[edge.to], after[id]);
    }
    std::ranges::stable_sort(pieces, {}, [](const auto& piece) { return piece.first; });
    std::vector<ConsecutiveBlocks> in_order;
    for (const auto& [when, piece] : pieces) in_order.push_back(piece);
    return in_order;
}

// Broadcasts all blocks in a rank's group. The broadcast of a region waits for ready(region).
template <class F>
void broadcast(const Problem& in, const Hierarchy& groups, F ready, ScheduleBuilder& schedule) {
    const Rank own = groups.nodes.node_of(in.rank);
    for (const auto& [first, number] : pieces_for(in.agreed, groups.nodes, own)) {
        const Region blocks = in.recv.blocks(first, number);
        bcast_in_node(groups, in.rank, blocks, ready(blocks), schedule);
    }
}

}  // namespace

void allgather_by_leader(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule) {
    const OpId given = schedule.send(in.send.block(), groups.leader_of(in.rank));
    bcast_in_node(groups, in.rank, in.recv.all(), in.in_place ? given : no_op, schedule);
}

void allgather_by_leaders(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule) {
    if (in.rank != groups.leader_of(in.rank)) {
        const OpId given = schedule.send(in.send.block(), groups.leader_of(in.rank));
        const auto free = [&](Region) { return in.in_place ? given : no_op; };
        broadcast(in, groups, free, schedule);
        return;
    }
    std::vector<std::span<const Rank>> members;
    for (Rank group = 0; group < groups.nodes.nodes(); ++group)
        members.push_back(groups.nodes.members(group));
    const Grouped all(in, std::move(members), schedule);
    const Rank own = groups.nodes.node_of(in.rank);
    const OpId gathered = schedule.join({});  // see hierarchy.h
    all.exchange({groups.leaders, own, 0, 1}, gathered, schedule);
    all.gather(own, gathered, schedule);
    all.put_in_order(schedule);
    const auto there = [&](Region blocks) { return schedule.written(blocks); };
    broadcast(in, groups, there, schedule);
}

LeadersCost cost_by_leaders(const GlobalArgs& a, const Hierarchy& in, const Topology& nodes) {
    const Algorithm& inner = inner_of(a, allgather_bruck);
    const Topology& groups = in.nodes;
    const BlocksOfGroups blocks(groups);  // blocks are counted
    GlobalArgs among_leaders;
    among_leaders.ranks = groups.nodes();
    among_leaders.tuning.ports = a.tuning.ports;
    LeadersCost cost;
    for (Rank group = 0; group < groups.nodes(); ++group) {
        const std::int64_t passed_on = std::ssize(pieces_for(a, groups, group));
        cost.messages_max = std::max(cost.messages_max, ceil_log2(groups.size(group)) * passed_on);
    }
    cost.messages_max += inner.sent_messages_max(among_leaders);
    const Rank most = groups.size_max();
    cost.rounds = no_claim;
    if (!passes_on_each(a, groups))
        cost.rounds = most - 1 + inner.rounds(among_leaders) + ceil_log2(most);
    const auto node_of = [&](Rank group) { return nodes.node_of(groups.members(group).front()); };
    for (Rank group = 0; group < groups.nodes(); ++group) {
        std::int64_t sent = ceil_log2(groups.size(group)) * std::int64_t{groups.ranks()};
        const Problem leader = blocks.part_of(group, a.tuning.ports);
        for_each_message(inner, leader, [&](Rank peer, std::int64_t number) {
            sent += number;
            if (node_of(peer) != node_of(group)) cost.blocks_between_nodes += number;
        });
        cost.blocks_max = std::max(cost.blocks_max, sent);
    }
    return cost;
}

static LeadersCost hierarchical_cost(const GlobalArgs& a) {
    const Hierarchy at(a);
    return cost_by_leaders(a, at, at.nodes);
}

// Allgather in three steps: a node's leader gathers its ranks' blocks, the leaders exchange them,
// by Bruck's algorithm or another flat one (`inner`), and each leader broadcasts all blocks in its
// node. Any number of ranks and nodes; between nodes each block moves once to every node. If each
// node's ranks are consecutive, blocks of a ring, and any of 64 KiB a node, are broadcast as they
// arrive.
extern const Algorithm allgather_hierarchical = {
    .name = "hierarchical",
    .source =
        "Inozemtsev, Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using "
        "CORE-Direct, IEEE CLUSTER 2012, section IV.B (no DOI that could be "
        "checked)",
    .tunes = Tunes::inner,
    .follows_topology = true,
    .leaders = [](const GlobalArgs& a) { return Hierarchy(a).nodes.nodes(); },
    .rounds = [](const GlobalArgs& a) { return hierarchical_cost(a).rounds; },
    .sent_messages_max = [](const GlobalArgs& a) { return hierarchical_cost(a).messages_max; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * hierarchical_cost(a).blocks_max; },
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.total_bytes() * (Hierarchy(a).nodes.nodes() - 1); },
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            allgather_by_leaders(in, Hierarchy(in.agreed), schedule);
        },
};

constexpr Rank ranks_per_leader = 4;

static Hierarchy groups_of(const GlobalArgs& a) {
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

static LeadersCost multi_leader_cost(const GlobalArgs& a) {
    return cost_by_leaders(a, groups_of(a), Hierarchy(a).nodes);
}

// Allgather in three steps, with several leaders per node: each gathers the blocks of its part of
// the node's ranks, all leaders exchange them, by Bruck's algorithm or another flat one (`inner`),
// and each broadcasts all blocks to its ranks, large ones as they arrive. There is a leader for
// every four ranks, or as many per node as `leaders` says. Any number of ranks and nodes.
extern const Algorithm allgather_multi_leader = {
    .name = "multi_leader",
    .source =
        "Kandalla, Subramoni, Santhanaraman, Koop, Panda: Designing Multi-Leader-Based Allgather "
        "Algorithms for Multi-Core Clusters, IPDPS 2009, workshop CAC (no DOI that could be "
        "checked)",
    .tunes = Tunes::leaders,
    .follows_topology = true,
    .leaders = [](const GlobalArgs& a) { return groups_of(a).nodes.nodes(); },
    .rounds = [](const GlobalArgs& a) { return multi_leader_cost(a).rounds; },
    .sent_messages_max = [](const GlobalArgs& a) { return multi_leader_cost(a).messages_max; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * multi_leader_cost(a).blocks_max; },
    .bytes_between_nodes =
        [](const GlobalArgs& a) { return a.bytes * multi_leader_cost(a).blocks_between_nodes; },
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            allgather_by_leaders(in, groups_of(in.agreed), schedule);
        },
};

}  // namespace weft::algorithm
