// `weft bench pipeline`: a broadcast along a chain behind a fixed computation, beside pipelining by hand.
//
// After Nomura, Ishikawa, Maruyama, Matsuoka: Design and Implementation of Portable and Efficient Non-blocking
// Collective Communication, section V.
#pragma once

#include "bench/pipeline/options.h"

namespace weft::bench {

// Starts the ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_pipeline(const PipelineOptions& options);

}  // namespace weft::bench
