// The MPI as a channel for Weft's messages: WEFT_TRANSPORT=mpi.
//
// Thread safety: as the MPI's.
#pragma once

#include <weft/weft.h>

namespace weft::dropin {

// The channel between the ranks of MPI_COMM_WORLD.
weft_mpi_channel mpi_channel(bool any_thread);

// Whether Weft has opened it.
bool is_mpi_channel_open();

}  // namespace weft::dropin
