// Equations 1 to 6 of the paper that made the case for nonblocking collective operations: how long the
// usual algorithms take in LogGP, and which part of that is the CPU's. A message of m bytes takes
// 2o + L + mG there (elsewhere in Weft (m-1)G, as LogGP defines it).
//
// Torsten Hoefler, Jeffrey Squyres, Wolfgang Rehm, Andrew Lumsdaine: A Case for Non-Blocking Collective
// Operations, 2006
#pragma once

#include "base/status.h"
#include "model/loggp.h"

namespace weft::model {

// Equations 1 and 4: dissemination.
ModelTime paper_barrier(const LogGpParameters& parameters, Rank ranks);
// Equations 2 and 5: a binomial tree to the root, and another from there.
ModelTime paper_allreduce(const LogGpParameters& parameters, Rank ranks, std::int64_t bytes);
// Equations 3 and 6: a binomial tree.
ModelTime paper_bcast(const LogGpParameters& parameters, Rank ranks, std::int64_t bytes);

}  // namespace weft::model
