#include "algorithm/trees.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "algorithm/places.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// A child, and the distances [first, end) of its subtree from the root.
struct Subtree {
    Rank child;
    Rank first;
    Rank end;
};

// The farthest one first.
std::vector<Subtree> subtrees_of(const Tree& tree, Rank root, Rank ranks) {
    std::vector<Subtree> subtrees;
    Rank end = tree.distance + tree.subtree;
    for (const Rank child : tree.children) {
        const Rank first = around(child, -root, ranks);
        subtrees.push_back({child, first, end});
        end = first;
    }
    return subtrees;
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
    // buffers used in rotation: one for each port, and one that is being combined.
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

void gather_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule, bool in_turn) {
    const std::int64_t bytes = in.send.bytes;
    std::vector<Subtree> subtrees = subtrees_of(tree, in.root(), in.ranks());
    if (in_turn) std::ranges::reverse(subtrees);
    OpId arrived = no_op;
    auto receive = [&](Region into, Rank child) {
        return arrived = schedule.recv(into, child, {in_turn ? arrived : no_op});
    };
    if (!tree.parent) {
        if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
        const Places all(in.recv, in.root());
        for (const auto& [child, first, end] : subtrees) {
            if (const std::optional<Region> there = all.together(first, end)) {
                receive(*there, child);
                continue;
            }
            const Region room = schedule.scratch((end - first) * bytes);
            unpack(all, first, end, room, {receive(room, child)}, schedule);
        }
        return;
    }
    if (tree.subtree == 1) {
        schedule.send(in.send.block(), *tree.parent);
        return;
    }
    const Region room = schedule.scratch(tree.subtree * bytes);
    OpId there = schedule.copy(in.send.block(), room.part(0, bytes));
    for (const auto& [child, first, end] : subtrees) {
        const Region part = room.part((first - tree.distance) * bytes, (end - first) * bytes);
        there = schedule.join({there, receive(part, child)});
    }
    schedule.send(room, *tree.parent, {there});
}

void scatter_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t bytes = in.recv.bytes;
    const std::vector<Subtree> subtrees = subtrees_of(tree, in.root(), in.ranks());
    if (!tree.parent) {
        const Places all(in.send, in.root());
        for (const auto& [child, first, end] : subtrees) {
            const Packed blocks = pack(all, first, end, schedule);
            schedule.send(blocks.region, child, {blocks.ready});
        }
        if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block());
        return;
    }
    if (tree.subtree == 1) {
        schedule.recv(in.recv.block(), *tree.parent);
        return;
    }
    const Region room = schedule.scratch(tree.subtree * bytes);
    const OpId arrived = schedule.recv(room, *tree.parent);
    for (const auto& [child, first, end] : subtrees) {
        const Region part = room.part((first - tree.distance) * bytes, (end - first) * bytes);
        schedule.send(part, child, {arrived});
    }
    schedule.copy(room.part(0, bytes), in.recv.block(), {arrived});
}

}  // namespace weft::algorithm
