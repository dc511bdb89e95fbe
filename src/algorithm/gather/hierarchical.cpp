// Gather in two steps: a node's leader gathers its ranks' blocks and sends them to the root in one
// message. The root leads its node. Any number of ranks and nodes, any root.
#include <algorithm>
#include <vector>

#include "algorithm/hierarchy.h"

namespace weft::algorithm {
namespace {

// Receives a node's blocks from its leader in one message, even if they are not contiguous.
void receive_node(const Problem& in, std::span<const Rank> members, Rank leader,
                  ScheduleBuilder& schedule) {
    const auto ranks = static_cast<Rank>(members.size());
    if (are_consecutive(members)) {
        schedule.recv(in.recv.blocks(members.front(), ranks), leader);
        return;
    }
    const Region room = schedule.scratch(ranks * in.recv.bytes);
    const OpId arrived = schedule.recv(room, leader);
    for_each_run(members, [&](Rank place, Rank first, Rank length) {
        const Region run = in.recv.blocks(first, length);
        schedule.copy(room.part(place * in.recv.bytes, run.bytes), run, {arrived});
    });
}

void build_root(const Problem& in, const Hierarchy& at, ScheduleBuilder& schedule) {
    const Topology& nodes = at.nodes;
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        if (node != nodes.node_of(in.rank)) {
            const std::span<const Rank> members = nodes.members(node);
            receive_node(in, members, at.leader_of(members.front()), schedule);
            continue;
        }
        for (const Rank member : nodes.members(node)) {
            if (member != in.rank) schedule.recv(in.recv.block(member), member);
        }
    }
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed, in.root());
    const Rank leader = at.leader_of(in.rank);
    const std::span<const Rank> members = at.nodes.members(at.nodes.node_of(in.rank));
    if (in.is_root()) {
        build_root(in, at, schedule);
    } else if (in.rank != leader) {
        schedule.send(in.send.block(), leader);
    } else if (members.size() == 1) {
        schedule.send(in.send.block(), in.root());
    } else {
        const std::int64_t bytes = in.send.bytes;
        const Region room = schedule.scratch(std::ssize(members) * bytes);
        const auto block_of = [&](Rank member) {
            return room.part(at.nodes.place(member) * bytes, bytes);
        };
        OpId there = schedule.copy(in.send.block(), block_of(leader));
        for (const Rank member : members) {
            if (member == leader) continue;
            const Region block = block_of(member);
            there = schedule.join({there, schedule.recv(block, member)});
        }
        schedule.send(room, in.root(), {there});
    }
}

// Follows the order in which messages can arrive at the root, one at a time.
std::int64_t rounds(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank top = nodes.node_of(a.root);
    std::vector<std::int64_t> ready;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        if (node != top) ready.push_back(nodes.size(node) - 1);
    }
    std::ranges::sort(ready);
    std::int64_t round = nodes.size(top) - 1;
    for (const std::int64_t at : ready) round = std::max(round, at) + 1;
    return round;
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank top = nodes.node_of(a.root);
    std::int64_t blocks = nodes.size(top) > 1 ? 1 : 0;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        if (node != top) blocks = std::max<std::int64_t>(blocks, nodes.size(node));
    }
    return a.bytes * blocks;
}

}  // namespace

extern const Algorithm gather_hierarchical = {
    .name = "hierarchical",
    .source = traff_2004,
    .follows_topology = true,
    .rounds = rounds,
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = sent_bytes,
    .bytes_between_nodes = bytes_beyond_the_root,
    .build = build,
};

}  // namespace weft::algorithm
