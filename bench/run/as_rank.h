// Measures in a job that another launcher has started.
#pragma once

#include "bench/run/run.h"

namespace weft::bench {

// In a rank that another launcher has started: what of it this job can measure. Returns the rank;
// rank 0 has written the samples.
int run_as_rank(const Plan& plan, const RunOptions& options);

}  // namespace weft::bench
