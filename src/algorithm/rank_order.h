// Combining the operands of a block in rank order as they arrive, shared by several algorithms.
#pragma once

#include "algorithm/algorithm.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// Receives an operand from every other rank, from rank - 1, rank - 2 and so on around, and combines
// them by the association of reproducible reductions (Promise::reproducible). `own` is this rank's
// operand; the result is in `sum`, which may be `own` itself. Returns the operation that completes when
// the result is there. Needs memory for about 2 log2(ranks) operands.
OpId combine_in_rank_order(const Problem& in, Region own, Region sum, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
