// A rank of a job: `weft bench-rank PLAN`.
#pragma once

#include <string>

namespace weft::bench {

// Measures what the plan's file says. Rank 0 appends the samples to the plan's file of samples.
// Returns the exit status; a wrong result ends the process with status 1.
int run_rank(const std::string& plan);

}  // namespace weft::bench
