#include "algorithm/allgather/leaders.h"

#include <algorithm>
#include <utility>

#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

extern const Algorithm allgather_bruck;

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

Status Grouped::exchange(const LeaderExchange& among, OpId after, ScheduleBuilder& schedule) const {
    const auto leaders = static_cast<Rank>(among.leaders.size());
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    for (Rank i = 0; i < leaders; ++i) {
        const Region block = blocks(among.first + i * among.each, among.each);
        sizes.push_back(block.bytes);
        offsets.push_back(block.offset - room_.offset);
    }
    Problem leader;
    leader.agreed.ranks = leaders;
    leader.agreed.sizes = sizes;
    leader.rank = among.own;
    leader.in_place = true;
    const Region own = blocks(among.first + among.own * among.each, among.each);
    leader.send = {own.buffer, 1, own.offset, own.bytes};
    leader.recv = {room_.buffer, leaders, room_.offset, 0, {sizes, offsets}};
    const auto among_leaders = schedule.within(among.leaders, after);
    return allgather_bruck.build(leader, schedule);
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
    // Before there are copies to look through.
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

void allgather_by_leader(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule) {
    const OpId given = schedule.send(in.send.block(), groups.leader_of(in.rank));
    bcast_in_node(groups, in.rank, in.recv.all(), in.in_place ? given : no_op, schedule);
}

Status allgather_by_leaders(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule) {
    if (in.rank != groups.leader_of(in.rank)) {
        allgather_by_leader(in, groups, schedule);
        return ok;
    }
    std::vector<std::span<const Rank>> members;
    for (Rank group = 0; group < groups.nodes.nodes(); ++group)
        members.push_back(groups.nodes.members(group));
    const Grouped all(in, std::move(members), schedule);
    const Rank own = groups.nodes.node_of(in.rank);
    const OpId gathered = schedule.join({});  // see hierarchy.h
    WEFT_RETURN_IF_NOT_OK(all.exchange({groups.leaders, own, 0, 1}, gathered, schedule));
    all.gather(own, gathered, schedule);
    all.put_in_order(schedule);
    bcast_in_node(groups, in.rank, in.recv.all(), schedule.written(in.recv.all()), schedule);
    return ok;
}

LeadersCost cost_by_leaders(const Hierarchy& in, const Topology& nodes) {
    const Topology& groups = in.nodes;
    const Rank number = groups.nodes();
    LeadersCost cost;
    cost.messages_max = ceil_log2(number) + ceil_log2(groups.size_max());
    cost.rounds = groups.size_max() - 1 + cost.messages_max;
    const auto node_of = [&](Rank group) { return nodes.node_of(groups.members(group).front()); };
    for (Rank group = 0; group < number; ++group) {
        std::int64_t sent = ceil_log2(groups.size(group)) * std::int64_t{groups.ranks()};
        for_each_bruck_message(number, [&](Rank behind, Rank count) {
            std::int64_t blocks = 0;
            for (Rank i = 0; i < count; ++i) blocks += groups.size(around(group, i, number));
            sent += blocks;
            if (node_of(around(group, -behind, number)) != node_of(group))
                cost.blocks_between_nodes += blocks;
        });
        cost.blocks_max = std::max(cost.blocks_max, sent);
    }
    return cost;
}

}  // namespace weft::algorithm
