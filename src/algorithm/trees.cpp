#include "algorithm/trees.h"

#include <utility>

namespace weft::algorithm {

void bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule) {
    OpId ready = before;
    if (tree.parent) ready = schedule.recv(data, *tree.parent, {before});
    for (Rank child : tree.children) schedule.send(data, child, {ready});
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
    // places by turns, so that a receive waits for the last but one reduction.
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

}  // namespace weft::algorithm
