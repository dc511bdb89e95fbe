// `weft bench waits`: what a rank's waits cost while other ranks compute.
#pragma once

#include "bench/waits/options.h"

namespace weft::bench {

// Starts the ranks of each situation; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_waits(const WaitsOptions& options);

}  // namespace weft::bench
