// A rank of a job: `weft bench-rank PLAN`.
#pragma once

#include <string>

#include "bench/scenario/cell.h"

namespace weft::bench {

// Measures what the plan's file says. Rank 0 appends the samples to the plan's file of samples.
// Returns the exit status; a wrong result ends the process with status 1.
int run_rank(const std::string& plan);

// The same of a plan that this rank has made; all ranks have made the same. Returns the rank.
int run_rank(const Json& plan);

}  // namespace weft::bench
