// `weft bench overlap`: how much of each collective hides behind computation.
#pragma once

#include "bench/overlap/options.h"

namespace weft::bench {

// Starts the ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_overlap(const OverlapOptions& options);

}  // namespace weft::bench
