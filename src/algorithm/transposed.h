// Scans of long vectors, part by part; shared by scan and exscan.
#pragma once

#include "algorithm/prefix.h"

namespace weft::algorithm {

// The vector is cut into a part for each rank. In step i rank r sends part r + i to rank r + i, which
// computes all ranks' results of its part, in the association of reproducible reductions; in step i of the second half
// rank r sends rank r + i that rank's result. Needs memory for one vector.
void prefix_transposed(const Problem& in, Own own, ScheduleBuilder& schedule);

// Its claims.
std::int64_t transposed_messages(const Agreed& a);
std::int64_t transposed_bytes(const Agreed& a);

}  // namespace weft::algorithm
