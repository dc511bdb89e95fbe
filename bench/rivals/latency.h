// How long 8 bytes take, start + wait, with an MPI and with Weft in turn.
#pragma once

#include <vector>

#include "bench/engines.h"
#include "bench/job.h"
#include "bench/testbed.h"

namespace weft::bench {

// Rank 0 prints. Collective.
void measure_rival_latency(const Job& job, const std::vector<Engine>& engines,
                           const Testbed& testbed, int repetitions);

}  // namespace weft::bench
