// Combining the operands of a block in rank order as they arrive, shared by several algorithms.
#pragma once

#include <vector>

#include "algorithm/algorithm.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// Receives an operand from every other rank (from rank - 1, rank - 2 and so on around the ring),
// and combines them in the association of reproducible reductions (Postcondition::reproducible).
// `own` is this rank's operand; the result is in `sum`, which may be `own` itself. Returns the
// operation that completes when the result is there. Needs memory for about 2 log2(ranks) operands.
OpId combine_in_rank_order(const Problem& in, Region own, Region sum, ScheduleBuilder& schedule);

// A vector that was cut into a part for each rank (part_of_rank), and combined part by part.
struct Scattered {
    OpId result = no_op;     // completes when this rank's part is there
    std::vector<OpId> sent;  // by rank: its part of the operand has been sent
    OpId last_sent = no_op;
};

// In step i rank r sends its operand's part r + i to rank r + i, one message at a time. `sum` gets
// this rank's part of the result; it may be that part of the operand itself.
Scattered reduce_scatter_in_rank_order(const Problem& in, Region operand, Region sum,
                                       ScheduleBuilder& schedule);

}  // namespace weft::algorithm
