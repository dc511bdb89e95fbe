// A random program on simulated ranks, which take turns in one thread: the seed decides every delay,
// every reordering and whose turn it is. On transport "sim_fibers" each rank runs eight, in user-level threads with a
// communicator each: the case's, all of whose steps may be dropped, and those of the seeds behind it.
#pragma once

#include "support/random/jobs.h"

namespace weft::test::random {

Outcome run_simulated(const Case& c, Plant plant);

}  // namespace weft::test::random
