// Scatter in two steps: the root sends each node's blocks to its leader in one message, and the
// leader distributes them. The root leads its node. Any number of ranks and nodes, any root.
#include <algorithm>
#include <vector>

#include "algorithm/hierarchy.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// Sends a node's blocks to its leader in one message, even if they are not contiguous.
void send_node(const Problem& in, std::span<const Rank> members, Rank leader,
               ScheduleBuilder& schedule) {
    const auto ranks = static_cast<Rank>(members.size());
    if (are_consecutive(members)) {
        schedule.send(in.send.blocks(members.front(), ranks), leader);
        return;
    }
    const Region room = schedule.scratch(ranks * in.send.bytes);
    std::vector<OpId> copied;
    for_each_run(members, [&](Rank place, Rank first, Rank length) {
        const Region run = in.send.blocks(first, length);
        copied.push_back(schedule.copy(run, room.part(place * in.send.bytes, run.bytes)));
    });
    schedule.send(room, leader, {schedule.join(copied)});
}

// Other nodes first: their leaders have to pass blocks on.
void build_root(const Problem& in, const Hierarchy& at, ScheduleBuilder& schedule) {
    const Topology& nodes = at.nodes;
    const Rank own = nodes.node_of(in.rank);
    for (Rank step = 1; step < nodes.nodes(); ++step) {
        const std::span<const Rank> members = nodes.members(around(own, step, nodes.nodes()));
        send_node(in, members, at.leader_of(members.front()), schedule);
    }
    for (const Rank member : nodes.members(own)) {
        if (member != in.rank) schedule.send(in.send.block(member), member);
    }
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block());
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed, in.root());
    const Rank leader = at.leader_of(in.rank);
    const std::span<const Rank> members = at.nodes.members(at.nodes.node_of(in.rank));
    if (in.is_root()) {
        build_root(in, at, schedule);
    } else if (in.rank != leader) {
        schedule.recv(in.recv.block(), leader);
    } else if (members.size() == 1) {
        schedule.recv(in.recv.block(), in.root());
    } else {
        const std::int64_t bytes = in.recv.bytes;
        const Region room = schedule.scratch(std::ssize(members) * bytes);
        const OpId arrived = schedule.recv(room, in.root());
        const auto block_of = [&](Rank member) {
            return room.part(at.nodes.place(member) * bytes, bytes);
        };
        for (const Rank member : members)
            if (member != leader) schedule.send(block_of(member), member, {arrived});
        schedule.copy(block_of(leader), in.recv.block(), {arrived});
    }
}

struct ScatterCost {
    std::int64_t rounds = 0;
    std::int64_t messages_max = 0;
};

ScatterCost cost(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank top = nodes.node_of(a.root);
    ScatterCost cost;
    cost.rounds = cost.messages_max = nodes.nodes() - 1 + nodes.size(top) - 1;
    for (Rank step = 1; step < nodes.nodes(); ++step) {
        const std::int64_t passed_on = nodes.size(around(top, step, nodes.nodes())) - 1;
        cost.rounds = std::max(cost.rounds, step + passed_on);
        cost.messages_max = std::max(cost.messages_max, passed_on);
    }
    return cost;
}

}  // namespace

extern const Algorithm scatter_hierarchical = {
    .name = "hierarchical",
    .source = traff_2004,
    .follows_topology = true,
    .rounds = [](const GlobalArgs& a) { return cost(a).rounds; },
    .sent_messages_max = [](const GlobalArgs& a) { return cost(a).messages_max; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .bytes_between_nodes = bytes_beyond_the_root,
    .build = build,
};

}  // namespace weft::algorithm
