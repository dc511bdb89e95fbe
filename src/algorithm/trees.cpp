#include "algorithm/trees.h"

#include <algorithm>
#include <vector>

#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// The blocks of the ranks at distances [first, first + count) from the root.
struct BlockRange {
    Rank first;
    Rank count;
};

// Calls f(child, its blocks), the farthest child first.
template <class F>
void for_each_subtree(const Tree& tree, Rank root, Rank ranks, F f) {
    Rank end = tree.distance + tree.subtree;
    for (Rank child : tree.children) {
        const Rank first = around(child, -root, ranks);
        f(child, BlockRange{first, end - first});
        end = first;
    }
}

// Where blocks lie in the root's buffer: in one piece, or in two if they wrap around its end.
struct Pieces {
    Region before;
    Region behind;  // empty: one piece
};

Pieces find_pieces(const Layout& all, Rank root, BlockRange blocks) {
    const Rank first = around(root, blocks.first, all.count);
    const Rank before = std::min(blocks.count, all.count - first);
    return {all.blocks(first, before), all.blocks(0, blocks.count - before)};
}

}  // namespace

OpId bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule,
                 bool throttle) {
    OpId ready = before;
    if (tree.parent) ready = schedule.recv(data, *tree.parent, {before});
    OpId sent = ready;
    for (Rank child : tree.children) sent = schedule.send(data, child, {throttle ? sent : ready});
    return ready;
}

OpId reduce_along(const Tree& tree, std::uint32_t ports, Region from, Region into,
                  ScheduleBuilder& schedule) {
    const bool is_top = !tree.parent;
    const bool in_place = is_top && from.buffer == into.buffer && from.offset == into.offset;
    if (tree.children.empty()) {
        if (!is_top) return schedule.send(from, *tree.parent);
        return in_place ? schedule.start() : schedule.copy(from, into);
    }

    // The nearest child is ready first. Its operand becomes the sum; later operands land in a few
    // buffers in turn: one for each port, and one that is being combined.
    auto child = tree.children.rbegin();
    Region sum = is_top ? into : schedule.scratch(from.bytes);
    // First in the schedule on all ranks, however many children they have: hierarchy.h says why.
    const OpId given = is_top ? no_op : schedule.send(sum, *tree.parent);
    OpId result = no_op;
    OpId from_read = no_op;
    if (!in_place) {
        const OpId arrived = schedule.recv(sum, *child++);
        result = from_read = schedule.reduce(from, sum, {arrived});
    }
    struct Operand {
        Region room;
        OpId free = no_op;
    };
    std::vector<Operand> operands(
        std::min<std::size_t>(static_cast<std::size_t>(tree.children.rend() - child), ports + 1));
    for (Operand& operand : operands) operand.room = schedule.scratch(from.bytes);
    for (std::size_t turn = 0; child != tree.children.rend(); ++child, ++turn) {
        Operand& operand = operands[turn % operands.size()];
        const OpId arrived = schedule.recv(operand.room, *child, {operand.free});
        operand.free = result = schedule.reduce_right(operand.room, sum, {result, arrived});
    }
    if (is_top) return result;
    schedule.order(result, given);
    return from_read;
}

void reduce_to_root(const Problem& in, std::uint32_t ports, ScheduleBuilder& schedule) {
    const Rank top = in.agreed.commutative ? in.root() : 0;
    const Tree tree = knomial_tree(in.rank, in.ranks(), top, static_cast<Rank>(ports) + 1);
    if (top == in.root()) {
        reduce_along(tree, ports, in.send.block(), in.recv.block(), schedule);
        return;
    }
    const Region sum = in.rank == top ? schedule.scratch(in.agreed.bytes) : Region{};
    const OpId reduced = reduce_along(tree, ports, in.send.block(), sum, schedule);
    if (in.rank == top) schedule.send(sum, in.root(), {reduced});
    if (in.is_root()) schedule.recv(in.recv.block(), top, {in.in_place ? reduced : no_op});
}

void gather_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t bytes = in.send.bytes;
    if (!tree.parent) {
        if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
        for_each_subtree(tree, in.root(), in.ranks(), [&](Rank child, BlockRange blocks) {
            const Pieces pieces = find_pieces(in.recv, in.root(), blocks);
            if (pieces.behind.bytes == 0) {
                schedule.recv(pieces.before, child);
                return;
            }
            const Region room = schedule.scratch(blocks.count * bytes);
            const OpId arrived = schedule.recv(room, child);
            schedule.copy(room.part(0, pieces.before.bytes), pieces.before, {arrived});
            schedule.copy(room.part(pieces.before.bytes, pieces.behind.bytes), pieces.behind,
                          {arrived});
        });
        return;
    }
    if (tree.subtree == 1) {
        schedule.send(in.send.block(), *tree.parent);
        return;
    }
    const Region room = schedule.scratch(tree.subtree * bytes);
    OpId there = schedule.copy(in.send.block(), room.part(0, bytes));
    for_each_subtree(tree, in.root(), in.ranks(), [&](Rank child, BlockRange blocks) {
        const Region part = room.part((blocks.first - tree.distance) * bytes, blocks.count * bytes);
        there = schedule.join({there, schedule.recv(part, child)});
    });
    schedule.send(room, *tree.parent, {there});
}

void scatter_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t bytes = in.recv.bytes;
    if (!tree.parent) {
        for_each_subtree(tree, in.root(), in.ranks(), [&](Rank child, BlockRange blocks) {
            const Pieces pieces = find_pieces(in.send, in.root(), blocks);
            if (pieces.behind.bytes == 0) {
                schedule.send(pieces.before, child);
                return;
            }
            const Region room = schedule.scratch(blocks.count * bytes);
            const OpId before = schedule.copy(pieces.before, room.part(0, pieces.before.bytes));
            const OpId behind =
                schedule.copy(pieces.behind, room.part(pieces.before.bytes, pieces.behind.bytes));
            schedule.send(room, child, {before, behind});
        });
        if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block());
        return;
    }
    if (tree.subtree == 1) {
        schedule.recv(in.recv.block(), *tree.parent);
        return;
    }
    const Region room = schedule.scratch(tree.subtree * bytes);
    const OpId arrived = schedule.recv(room, *tree.parent);
    for_each_subtree(tree, in.root(), in.ranks(), [&](Rank child, BlockRange blocks) {
        const Region part = room.part((blocks.first - tree.distance) * bytes, blocks.count * bytes);
        schedule.send(part, child, {arrived});
    });
    schedule.copy(room.part(0, bytes), in.recv.block(), {arrived});
}

}  // namespace weft::algorithm
