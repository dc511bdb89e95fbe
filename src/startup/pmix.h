// Startup under a launcher with PMIx: Open MPI's mpirun, prterun, Slurm's `--mpi=pmix`.
//
// The library libpmix is not linked but opened while the process joins; such a launcher's
// installation has it. Its sleeping thread stays until the process ends.
//
// Open MPI 5.0 does not start in a process that has called PMIx_Init already (MPI_Init: "local rank
// ... Not found"), and crashes in MPI_Finalize after PMIx_Finalize. A program that uses both calls
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
