// `weft bench predict --idle-share`: which share of a blocking collective the CPU has nothing to do. The case for
// nonblocking collectives rests on its size, and on its independence of the number of ranks (sim/case_paper.h).
#pragma once

#include "bench/predict/options.h"
#include "model/measured.h"

namespace weft::bench {

// Measures scenarios, and prints what they say beside the equations. Returns the exit status.
int measure_idle_shares(const PredictOptions& options, const model::MeasuredParameters& parameters,
                        const std::vector<std::int64_t>& sizes);

}  // namespace weft::bench
