// Sums over the ranks up to one, shared by scan and exscan.
#pragma once

#include "algorithm/algorithm.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// On each of the ranks from `first` on, `sum` holds an operand after `ready`; at the end it holds the
// combination of those of first..rank, in rank order. Returns the operation that completes then. REQUIRES:
// rank >= first.
OpId prefix_by_doubling(const Problem& in, Rank first, Region sum, OpId ready,
                        ScheduleBuilder& schedule);

}  // namespace weft::algorithm
