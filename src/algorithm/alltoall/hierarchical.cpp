// Alltoall through the nodes' leaders: a leader gathers what its ranks contribute, the leaders
// exchange one message per pair of nodes, and each leader sends its ranks their results. Any number
// of ranks and nodes. For small blocks, because leaders copy them all. On a single node there is
// nothing to save, and ranks exchange their blocks directly.
#include <algorithm>
#include <vector>

#include "algorithm/hierarchy.h"
#include "shape/ring.h"

namespace weft::algorithm {

extern const Algorithm alltoall_flat;

namespace {

// What one rank contributes, or its result, at the leader: a block per rank.
struct NodeRow {
    Layout blocks;
    OpId ready = no_op;
};

// What two nodes exchange: for each rank of the sender, the blocks for the receiver's ranks.
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
            NodeRow& row = rows_.emplace_back(new_row());
            if (member != in_.rank) {
                row.ready = schedule_.recv(row.blocks.all(), member);
            } else if (in_.in_place) {
                row.ready = saved_ = schedule_.copy(in_.send.all(), row.blocks.all());
            } else {
                row.blocks = in_.send;
            }
        }
    }

    void pack() {
        for (Rank node = 0; node < nodes_.nodes(); ++node) {
            if (node == own_) continue;
            const NodeExchange& exchange = with(node);
            std::int64_t filled = 0;
            for (const NodeRow& row : rows_) {
                for_each_run(nodes_.members(node), [&](Rank, Rank first, Rank ranks) {
                    const Region run = row.blocks.blocks(first, ranks);
                    const Region room = exchange.out.part(filled, run.bytes);
                    schedule_.order(schedule_.copy(run, room, {row.ready}), exchange.sent);
                    filled += run.bytes;
                });
            }
        }
    }

    void distribute() {
        for (const Rank member : members_) {
            const bool is_own = member == in_.rank;
            const NodeRow result = is_own ? NodeRow{in_.recv, saved_} : new_row();
            std::vector<OpId> copied;
            for (Rank from = 0; from < nodes_.ranks(); ++from) {
                const NodeRow block = contribution(from, member);
                copied.push_back(schedule_.copy(block.blocks.block(), result.blocks.block(from),
                                                {block.ready, result.ready}));
            }
            if (!is_own) schedule_.send(result.blocks.all(), member, {schedule_.join(copied)});
        }
    }

    // The block that `from` contributes for a rank of this node.
    NodeRow contribution(Rank from, Rank to) {
        const Rank node = nodes_.node_of(from);
        const Rank place = nodes_.place(from);
        if (node == own_) {
            const NodeRow& row = rows_[static_cast<std::size_t>(place)];
            return {layout(row.blocks.block(to), 1), row.ready};
        }
        const NodeExchange& exchange = with(node);
        const Rank index = place * nodes_.size(own_) + nodes_.place(to);
        const std::int64_t bytes = in_.recv.bytes;
        return {layout(exchange.arriving.part(index * bytes, bytes), 1), exchange.arrived};
    }

    NodeRow new_row() {
        return {layout(schedule_.scratch(in_.ranks() * in_.recv.bytes), in_.ranks())};
    }
    Layout layout(Region region, Rank count) const {
        return {region.buffer, count, region.offset, in_.recv.bytes};
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
    OpId saved_ = no_op;                   // in place: this rank's contribution
    ScheduleBuilder& schedule_;
};

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Hierarchy at(in.agreed);
    if (at.nodes.nodes() == 1) return alltoall_flat.build(in, schedule);
    const Rank leader = at.leader_of(in.rank);
    if (in.rank == leader) {
        Leader(in, at, schedule);
        return ok;
    }
    const OpId given = schedule.send(in.send.all(), leader);
    schedule.recv(in.recv.all(), leader, {in.in_place ? given : no_op});
    return ok;
}

std::int64_t sent_messages(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    return nodes.nodes() - 1 + nodes.size_max() - 1;
}

std::int64_t rounds(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    const Rank gathering = nodes.nodes() == 1 ? 0 : nodes.size_max() - 1;
    return gathering + sent_messages(a);
}

std::int64_t sent_bytes(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    if (nodes.nodes() == 1) return alltoall_flat.sent_bytes_max(a);
    std::int64_t blocks = 0;
    for (Rank node = 0; node < nodes.nodes(); ++node) {
        const std::int64_t size = nodes.size(node);
        blocks = std::max(blocks, size * (a.ranks - size) + (size - 1) * a.ranks);
    }
    return a.bytes * blocks;
}

std::int64_t bytes_between_nodes(const Agreed& a) {
    const Topology nodes = Hierarchy(a).nodes;
    std::int64_t blocks = 0;
    for (Rank node = 0; node < nodes.nodes(); ++node)
        blocks += nodes.size(node) * std::int64_t{a.ranks - nodes.size(node)};
    return a.bytes * blocks;
}

}  // namespace

extern const Algorithm alltoall_hierarchical = {
    .name = "hierarchical",
    .source = "Jackson, Booth: Planned AlltoAllv: A Cluster Approach, HPCxTR0409, 2004",
    .follows_topology = true,
    .rounds = rounds,
    .sent_messages_max = sent_messages,
    .sent_bytes_max = sent_bytes,
    .bytes_between_nodes = bytes_between_nodes,
    .build = build,
};

}  // namespace weft::algorithm
