// Steps along a tree of ranks that several algorithms are made of.
#pragma once

#include "algorithm/algorithm.h"
#include "schedule/builder.h"
#include "shape/tree.h"

namespace weft::algorithm {

// Passes `data` down the tree. `before`: at the top, data is there; elsewhere, it may be written.
// Returns: data is there.
OpId bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule);

// Combines everybody's operand `from` at the top of a binomial tree, where the result lands in
// `into`, which may be `from` itself; elsewhere `into` is not looked at. Operands are combined in
// the order of their distance from the top. Returns at the top: the result is there; elsewhere:
// `from` has been read.
OpId reduce_along(const Tree& tree, Region from, Region into, ScheduleBuilder& schedule);

// Every rank passes on the blocks of its subtree in one message, up to the root or down from it.
void gather_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule);
void scatter_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
