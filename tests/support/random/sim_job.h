// A random program on simulated ranks, which take turns in one thread: the seed decides every delay,
// every reordering and whose turn it is.
#pragma once

#include "support/random/jobs.h"

namespace weft::test::random {

Outcome run_simulated(const Case& c, Plant plant);

}  // namespace weft::test::random
