// How MPI_Init joins Weft's job. All ranks learn what one rank lacks or has set differently: either
// Weft takes the calls of all of them, or the MPI is left alone.
#pragma once

#include "mpi_dropin/part/settings.h"

namespace weft::dropin {

// Opens what a rank needs to take calls; or, on all ranks, leaves calls to the MPI and prints why.
// Writes to `settings` what all ranks have agreed on. `will_leave`: whether leave() will be called.
// Collective over MPI_COMM_WORLD.
void join(DropInSettings& settings, int rank, int ranks, bool will_leave);

// When MPI_Finalize begins: completes all operations, and leaves the MPI's hooks.
void finish_all();

// Closes what join() has opened.
void leave();

}  // namespace weft::dropin
