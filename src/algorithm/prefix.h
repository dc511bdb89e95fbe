// Prefix sums over ranks, shared by scan and exscan.
#pragma once

#include "algorithm/algorithm.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// On each of the ranks from `first` on, `sum` holds an operand after `ready`; at the end it holds the
// combination of those of first..rank, in rank order. Returns the operation that completes then. REQUIRES:
// rank >= first.
OpId prefix_by_doubling(const Problem& in, Rank first, Region sum, OpId ready,
                        ScheduleBuilder& schedule);

// The combination of the operands of all ranks up to this one, without or with its own, in the association of
// reproducible reductions (Promise::reproducible).
enum class Own : bool { excluded, included };
void prefix_by_hypercube(const Problem& in, Own own, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
