// A call that Weft has taken, and its buffers.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "mpi_dropin/part/communicators.h"
#include "mpi_dropin/part/packed_buffer.h"
#include "mpi_dropin/part/reductions.h"

namespace weft::dropin {

struct Operation {
    MPI_Request handle = MPI_REQUEST_NULL;
    weft_request request = WEFT_REQUEST_NULL;
    TakenComm* comm = nullptr;  // kept
    MpiCollective collective = MpiCollective::Barrier;
    int function = 0;
    bool is_persistent = false;
    bool is_active = false;
    bool is_over = false;  // Weft's operation is
    bool is_told = false;  // and the MPI knows
    bool is_hidden = false;
    bool is_freed = false;                // by the program, while it was active
    Operation* next_abandoned = nullptr;  // then
    bool keeps_handle = false;    // a generalized request that is in the map, whether in use or not
    Operation** owner = nullptr;  // ... in which it knows this operation
    int outcome = MPI_SUCCESS;
    int ticket = -1;  // of the message that completes a persistent request
    CombiningByMpi* combining = nullptr;
    bool stores = false;   // recv's copy goes to the program at the end
    bool fetches = false;  // ... and comes from there at the start
    // Not a collective but the MPI's own Comm_idup: the communicator is taken when the request has
    // completed.
    bool is_constructor = false;

    PackedBuffer send, recv;
    // A rank's part for itself, of which it sends less than it expects: moved from copy to copy,
    // not by Weft.
    struct OwnPart {
        std::size_t from = 0, to = 0, bytes = 0;
    } own{};
    std::vector<std::size_t> elements;  // of the blocks of a reduce_scatter

    std::int64_t started_ns = 0;     // with statistics
    std::int64_t waited_ns = 0;      // since the program began to wait for it
    std::int64_t waiting_ns = 0;     // its share of the time inside waits
    std::int64_t wait_began_ns = 0;  // of a wait for any of several that goes on; 0: there is none

    std::optional<CommConstruction> construction{};  // until it is taken
    MPI_Comm made = MPI_COMM_NULL;                   // if the MPI returns it at once,
    MPI_Comm* made_at = nullptr;                     // otherwise it is read here
};

}  // namespace weft::dropin
