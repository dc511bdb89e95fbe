// Steps along a tree of ranks, shared by several algorithms.
#pragma once

#include <cstdint>

#include "algorithm/algorithm.h"
#include "schedule/builder.h"
#include "shape/tree.h"

namespace weft::algorithm {

// Passes `data` down the tree. Waits for `before`, when at the top the data is ready and elsewhere
// it may be overwritten. If `throttle`, a send waits for the one before it, so that they do not
// compete for the network. Returns the operation that completes when the data is there.
OpId bcast_along(const Tree& tree, Region data, OpId before, ScheduleBuilder& schedule,
                 bool throttle = false);

// Combines all ranks' operands `from`, up a tree with consecutive subtrees, in the order of their
// distance from the top; `ports` operands may arrive at a time. The result is in `into` at the top,
// which may be `from` itself; other ranks ignore `into`. Returns the operation that completes when
// the result is there; on other ranks, when `from` has been read.
OpId reduce_along(const Tree& tree, std::uint32_t ports, Region from, Region into,
                  ScheduleBuilder& schedule);

// Combines all ranks' operands at the root, up a k-nomial tree for `ports` ports. For operations
// that do not commute the tree starts from rank 0, which keeps operands in rank order; rank 0 then
// sends the result to the root.
void reduce_to_root(const Problem& in, std::uint32_t ports, ScheduleBuilder& schedule);

// Every rank gets or passes on the blocks of its subtree in one message. `in_turn`: it receives
// from one child after the other, the nearest first, so that messages that wait for their receiver
// do not mix with those of other steps.
void gather_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule,
                  bool in_turn = false);
void scatter_along(const Tree& tree, const Problem& in, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
