// A rank that a launcher with PMIx has started: Open MPI's mpirun, prterun, Slurm's `--mpi=pmix`.
//
// The protocol is PMIx's own; its library libpmix is opened while the process joins, not linked: where
// such a launcher runs it is there. Its thread, which sleeps, stays until the process ends.
//
// Open MPI 5.0 does not start in a process that has entered PMIx already (MPI_Init: "local rank ...
// Not found"), and crashes in MPI_Finalize when that was left before. A program that uses both calls
// MPI_Init first.
#pragma once

#include <memory>

#include "startup/startup.h"

namespace weft {

struct Pmix {
    // REQUIRES: PMIX_NAMESPACE and PMIX_RANK are set.
    static Result<std::unique_ptr<Startup>> connect(std::int64_t timeout_ns);
};

}  // namespace weft
