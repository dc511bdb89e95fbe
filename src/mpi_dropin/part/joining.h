// How MPI_Init joins Weft's job. All ranks learn what one rank lacks or has set differently: either
// Weft takes the calls of all of them, or the MPI is left alone.
#pragma once

#include <weft/weft.h>

#include "mpi_dropin/part/settings.h"

namespace weft::dropin {

// The MPI as a channel for Weft's messages: WEFT_TRANSPORT=mpi.
//
// Thread safety: as the MPI's.

// The channel between the ranks of MPI_COMM_WORLD.
weft_mpi_channel mpi_channel(bool any_thread);

// Whether Weft has opened it.
bool is_mpi_channel_open();

// Opens what a rank needs to take calls; or, on all ranks, leaves calls to the MPI and prints why.
// Writes to `settings` what all ranks have agreed on. `will_leave`: whether leave() will be called.
// Collective over MPI_COMM_WORLD.
void join(DropInSettings& settings, int rank, int ranks, bool will_leave);

// When MPI_Finalize begins: completes all operations, and leaves the MPI's hooks.
void finish_all();

// Closes what join() has opened.
void leave();

}  // namespace weft::dropin
