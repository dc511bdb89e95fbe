// `weft bench predict --idle-share`: which share of a blocking collective the CPU has nothing to do. The case for
// nonblocking collectives rests on its size, and on its independence of the number of ranks (sim/case_paper.h).
#pragma once

#include <cstdint>
#include <vector>

#include "bench/job.h"
#include "bench/predict/options.h"
#include "bench/progress.h"
#include "bench/run/rows.h"
#include "model/measured.h"

namespace weft::bench {

// One rank's part of the measurement. Rank 0 prints, and writes rows.
void measure_idle_shares(const PredictOptions& options, const model::MeasuredParameters& parameters,
                         const std::vector<std::int64_t>& sizes, const Job& job, const Cell& place,
                         Rows& file, ProgressBar& progress);

}  // namespace weft::bench
