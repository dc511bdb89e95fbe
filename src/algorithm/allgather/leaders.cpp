#include "algorithm/allgather/leaders.h"

#include <algorithm>

#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

extern const Algorithm allgather_bruck;

namespace {

// All ranks' blocks, group by group, so that the leaders exchange consecutive bytes: in the result
// if that is its order, otherwise in scratch.
class Grouped {
  public:
    Grouped(const Problem& in, const Topology& groups, ScheduleBuilder& schedule)
        : in_(in), groups_(groups), is_result_(groups.is_in_order()) {
        room_ = is_result_ ? in.recv.all() : schedule.scratch(in.recv.all().bytes);
        for (Rank group = 0; group < groups.nodes(); ++group) {
            offsets_.push_back(groups.ranks_before(group) * in.recv.bytes);
            sizes_.push_back(groups.size(group) * in.recv.bytes);
        }
    }

    Region block(Rank rank) const {
        const Rank index = groups_.ranks_before(groups_.node_of(rank)) + groups_.place(rank);
        return room_.part(index * in_.recv.bytes, in_.recv.bytes);
    }
    Region blocks(Rank group) const {
        const auto i = static_cast<std::size_t>(group);
        return room_.part(offsets_[i], sizes_[i]);
    }
    bool has_block(Rank rank) const { return in_.in_place && block(rank) == in_.send.block(); }

    // The part of a group's leader in an allgather among the leaders.
    Problem among_leaders(Rank group) const {
        Problem leader;
        leader.agreed = {.collective = Collective::allgatherv,
                         .ranks = groups_.nodes(),
                         .sizes = sizes_,
                         .element_bytes = in_.agreed.element_bytes};
        leader.rank = group;
        leader.in_place = true;
        const Region own = blocks(group);
        leader.send = {own.buffer, 1, own.offset, own.bytes};
        leader.recv = {room_.buffer, groups_.nodes(), room_.offset, 0, {sizes_, offsets_}};
        return leader;
    }

    // Copies all blocks to where they belong, each group's when it is there.
    void put_in_order(ScheduleBuilder& schedule) const {
        if (is_result_) return;
        for (Rank group = 0; group < groups_.nodes(); ++group) {
            const OpId there = schedule.written(blocks(group));
            const Region from = blocks(group);
            for_each_run(groups_.members(group), [&](Rank place, Rank first, Rank ranks) {
                const Region run = in_.recv.blocks(first, ranks);
                schedule.copy(from.part(place * in_.recv.bytes, run.bytes), run, {there});
            });
        }
    }

  private:
    const Problem& in_;
    const Topology& groups_;
    bool is_result_;
    Region room_;
    std::vector<std::int64_t> sizes_;
    std::vector<std::int64_t> offsets_;
};

}  // namespace

Status allgather_by_leaders(const Problem& in, const Hierarchy& groups, ScheduleBuilder& schedule) {
    const Rank leader = groups.leader_of(in.rank);
    if (in.rank != leader) {
        const OpId given = schedule.send(in.send.block(), leader);
        bcast_in_node(groups, in.rank, in.recv.all(), in.in_place ? given : no_op, schedule);
        return ok;
    }
    const Grouped all(in, groups.nodes, schedule);
    const Rank own = groups.nodes.node_of(in.rank);
    const OpId gathered = schedule.join({});  // see hierarchy.h
    {
        const auto among_leaders = schedule.within(groups.leaders, gathered);
        WEFT_RETURN_IF_NOT_OK(allgather_bruck.build(all.among_leaders(own), schedule));
    }
    for (const Rank member : groups.nodes.members(own)) {
        if (member != in.rank) {
            schedule.order(schedule.recv(all.block(member), member), gathered);
        } else if (!all.has_block(in.rank)) {
            schedule.order(schedule.copy(in.send.block(), all.block(in.rank)), gathered);
        }
    }
    all.put_in_order(schedule);
    bcast_in_node(groups, in.rank, in.recv.all(), schedule.written(in.recv.all()), schedule);
    return ok;
}

LeadersCost cost_by_leaders(const Hierarchy& groups) {
    const Topology& nodes = groups.nodes;
    const int exchanges = ceil_log2(nodes.nodes());
    LeadersCost cost;
    cost.rounds = nodes.size_max() - 1 + exchanges + ceil_log2(nodes.size_max());
    cost.messages_max = exchanges + ceil_log2(nodes.size_max());
    for (Rank group = 0; group < nodes.nodes(); ++group) {
        std::int64_t blocks = ceil_log2(nodes.size(group)) * std::int64_t{nodes.ranks()};
        for (Rank step = 1; step < nodes.nodes(); step *= 2) {
            for (Rank i = 0; i < std::min(step, nodes.nodes() - step); ++i)
                blocks += nodes.size(around(group, i, nodes.nodes()));
        }
        cost.blocks_max = std::max(cost.blocks_max, blocks);
    }
    return cost;
}

}  // namespace weft::algorithm
