#include "algorithm/trees.h"

#include <algorithm>
#include <utility>

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

OpId bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule) {
    OpId ready = before;
    if (tree.parent) ready = schedule.recv(data, *tree.parent, {before});
    for (Rank child : tree.children) schedule.send(data, child, {ready});
    return ready;
}

OpId reduce_along(const Tree& tree, Region from, Region into, ScheduleBuilder& schedule) {
    const bool is_top = !tree.parent;
    const bool in_place = is_top && from.buffer == into.buffer && from.offset == into.offset;
    std::size_t left = tree.children.size();
    if (left == 0) {
        if (!is_top) return schedule.send(from, *tree.parent);
        return in_place ? schedule.start() : schedule.copy(from, into);
    }

    // The nearest child is ready first. Its operand becomes the sum; later operands land in two
    // buffers in turn, so that a receive waits for the last reduction but one.
    const Rank* child = tree.children.end();
    Region sum = is_top ? into : schedule.scratch(from.bytes);
    OpId result = no_op;
    OpId from_read = no_op;
    if (!in_place) {
        const OpId arrived = schedule.recv(sum, *--child);
        result = from_read = schedule.reduce(from, sum, {arrived});
        --left;
    }
    Region operand = left > 0 ? schedule.scratch(from.bytes) : sum;
    Region other_operand = left > 1 ? schedule.scratch(from.bytes) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    while (child != tree.children.begin()) {
        const OpId arrived = schedule.recv(operand, *--child, {free});
        result = schedule.reduce_right(operand, sum, {result, arrived});
        free = std::exchange(other_free, result);
        std::swap(operand, other_operand);
    }
    if (is_top) return result;
    schedule.send(sum, *tree.parent, {result});
    return from_read;
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
