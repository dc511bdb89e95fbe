// Alltoall through the nodes' leaders: a leader gathers what its ranks contribute, the leaders
// exchange one message per pair of nodes, and each leader sends its ranks their results; on a
// single node ranks exchange their blocks directly. For small blocks, because leaders copy them
// all. Any number of ranks and nodes.
#include <algorithm>
#include <vector>

#include "algorithm/algorithms.h"
#include "algorithm/hierarchy.h"
#include "shape/ring.h"

namespace weft::algorithm {

namespace {

// At the leader, a block per rank: what one rank contributes, and later its result.
struct NodeRow {
    Layout blocks;
    OpId ready = no_op;  // the contribution is there; later, its room is free
};

// The message between two nodes: for each rank of the sender, the blocks for the receiver's ranks.
// A node's own blocks are only copied.
struct NodeExchange {
    Region out;
    OpId sent = no_op;
    Region arriving;
    OpId arrived = no_op;
};

class Leader {
  public:
    Leader(const Problem& in, const Hierarchy& at, ScheduleBuilder& schedule)
        : in_(in),
          nodes_(at.nodes),
          own_(at.nodes.node_of(in.rank)),
          members_(at.nodes.members(own_)),
          exchanges_(static_cast<std::size_t>(at.nodes.nodes())),
          schedule_(schedule) {
        exchange(at.leaders);
        gather();
        pack();
        distribute();
    }

  private:
    // First in the schedule: see hierarchy.h.
    void exchange(const std::vector<Rank>& leaders) {
        const auto among_leaders = schedule_.within(leaders);
        for (Rank step = 1; step < nodes_.nodes(); ++step) {
            const Rank from = around(own_, -step, nodes_.nodes());
            NodeExchange& behind = with(from);
            behind.arriving = schedule_.scratch(bytes_with(from));
            behind.arrived = schedule_.recv(behind.arriving, from);
            const Rank to = around(own_, step, nodes_.nodes());
            NodeExchange& ahead = with(to);
            ahead.out = schedule_.scratch(bytes_with(to));
            ahead.sent = schedule_.send(ahead.out, to);
        }
    }

    void gather() {
        for (const Rank member : members_) {
            NodeRow& row = rows_.emplace_back(member == in_.rank ? NodeRow{in_.send} : new_row());
            if (member != in_.rank) row.ready = schedule_.recv(row.blocks.all(), member);
        }
    }

    void pack() {
        with(own_).arriving = schedule_.scratch(bytes_with(own_));
        std::vector<OpId> own_copied;
        for (Rank place = 0; place < static_cast<Rank>(members_.size()); ++place) {
            NodeRow& row = rows_[static_cast<std::size_t>(place)];
            std::vector<OpId> copied;
            for (Rank node = 0; node < nodes_.nodes(); ++node) {
                const NodeExchange& exchange = with(node);
                const Region out = node == own_ ? exchange.arriving : exchange.out;
                const std::int64_t bytes = nodes_.size(node) * in_.recv.bytes;
                for_each_run(nodes_.members(node), [&](Rank at, Rank first, Rank ranks) {
                    const Region run = row.blocks.blocks(first, ranks);
                    const Region room = out.part(place * bytes + at * in_.recv.bytes, run.bytes);
                    copied.push_back(schedule_.copy(run, room, {row.ready}));
                    if (node == own_)
                        own_copied.push_back(copied.back());
                    else
                        schedule_.order(copied.back(), exchange.sent);
                });
            }
            row.ready = schedule_.join(copied);
        }
        with(own_).arrived = schedule_.join(own_copied);
    }

    // Results take the place of the contributions.
    void distribute() {
        for (std::size_t place = 0; place < members_.size(); ++place) {
            const bool is_own = members_[place] == in_.rank;
            const NodeRow& row = rows_[place];
            const Layout& result = is_own ? in_.recv : row.blocks;
            const OpId free = is_own && !in_.in_place ? no_op : row.ready;
            std::vector<OpId> copied;
            for (Rank from = 0; from < nodes_.ranks(); ++from) {
                const NodeExchange& exchange = with(nodes_.node_of(from));
                const std::int64_t at = std::int64_t{nodes_.place(from)} * std::ssize(members_) +
                                        static_cast<std::int64_t>(place);
                copied.push_back(
                    schedule_.copy(exchange.arriving.part(at * in_.recv.bytes, in_.recv.bytes),
                                   result.block(from), {exchange.arrived, free}));
            }
            if (!is_own) schedule_.send(result.all(), members_[place], {schedule_.join(copied)});
        }
    }

    NodeRow new_row() {
        const Region room = schedule_.scratch(in_.ranks() * in_.recv.bytes);
        return {{room.buffer, in_.ranks(), room.offset, in_.recv.bytes}};
    }
    NodeExchange& with(Rank node) { return exchanges_[static_cast<std::size_t>(node)]; }
    std::int64_t bytes_with(Rank node) const {
        return std::int64_t{nodes_.size(own_)} * nodes_.size(node) * in_.recv.bytes;
    }

    const Problem& in_;
    const Topology& nodes_;
    Rank own_;
    std::span<const Rank> members_;
    std::vector<NodeRow> rows_;            // by place
    std::vector<NodeExchange> exchanges_;  // by node
    ScheduleBuilder& schedule_;
};

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    if (at.nodes.nodes() == 1) return alltoall_flat.build(in, schedule);
    const Rank leader = at.leader_of(in.rank);
    if (in.rank == leader) {
        Leader(in, at, schedule);
        return;
    }
    const OpId given = schedule.send(in.send.all(), leader);
    schedule.recv(in.recv.all(), leader, {in.in_place ? given : no_op});
}

std::int64_t sent_messages(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return nodes.nodes() - 1 + nodes.size_max() - 1;
}

std::int64_t rounds(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank gathering = nodes.nodes() == 1 ? 0 : nodes.size_max() - 1;
    return gathering + sent_messages(a);
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    if (nodes.nodes() == 1) return alltoall_flat.sent_bytes_max(a);
    std::int64_t blocks = 0;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const std::int64_t size = nodes.size(node);
        blocks = std::max(blocks, size * (a.ranks - size) + (size - 1) * a.ranks);
    }
    return a.bytes * blocks;
}

std::int64_t bytes_between_nodes(const GlobalArgs& a) {
    const Topology nodes = Hierarchy(a).nodes;
    std::int64_t blocks = 0;
    for (Rank node = 0; node < nodes.nodes(); ++node)
        blocks += nodes.size(node) * std::int64_t{a.ranks - nodes.size(node)};
    return a.bytes * blocks;
}

}  // namespace

extern const Algorithm alltoall_hierarchical = {
    .name = "hierarchical",
    .source =
        "Jackson, Booth: Planned AlltoAllv: A Cluster Approach, technical report HPCxTR0409, "
        "2004 (without a DOI)",
    .follows_topology = true,
    .rounds = rounds,
    .sent_messages_max = sent_messages,
    .sent_bytes_max = sent_bytes,
    .bytes_between_nodes = bytes_between_nodes,
    .build = build,
};

}  // namespace weft::algorithm
