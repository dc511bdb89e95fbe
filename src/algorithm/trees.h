// Steps along a tree of ranks, shared by several algorithms.
#pragma once

#include "algorithm/algorithm.h"
#include "schedule/builder.h"
#include "shape/tree.h"

namespace weft::algorithm {

// Passes `data` down the tree. Waits for `before`: at the top the data is ready, elsewhere it may
// be overwritten. Returns the operation that completes when the data is there.
OpId bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule);

// Combines all ranks' operands `from`, up a binomial tree, in the order of their distance from the
// top. The result is in `into` at the top, which may be `from` itself; other ranks ignore `into`.
// Returns the operation that completes when the result is there; on other ranks, when `from` has
// been read.
OpId reduce_along(const Tree& tree, Region from, Region into, ScheduleBuilder& schedule);

// Every rank gets or passes on the blocks of its subtree in one message.
void gather_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule);
void scatter_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
