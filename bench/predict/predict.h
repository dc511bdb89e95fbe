// `weft bench predict`: what the simulator says about a job's collectives, with parameters that were measured before,
// beside what they take.
#pragma once

#include "bench/predict/options.h"

namespace weft::bench {

// Returns the exit status.
int bench_predict(const PredictOptions& options);

}  // namespace weft::bench
