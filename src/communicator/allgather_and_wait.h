// The library's own blocking allgather, by which the ranks of a communicator agree on something.
#pragma once

#include <cstddef>

#include "communicator/communicator.h"

namespace weft {

// Gathers `bytes` of every rank into `all`, by rank, and waits for the end; releases the engine
// meanwhile. `what` names the caller's call in messages.
// Fails when the communicator is broken, even if this rank's part went well.
// REQUIRES: the caller keeps the communicator.
Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes);

}  // namespace weft
