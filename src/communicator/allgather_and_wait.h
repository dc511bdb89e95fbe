// A blocking allgather of the library's own, by which the ranks of a communicator agree on something.
#pragma once

#include <cstddef>

#include "communicator/communicator.h"

namespace weft {

// Gathers `bytes` of every rank into `all`, by rank, and waits for the end; the engine is released
// meanwhile. `what` is the name of the caller's call, for messages.
// Fails when the communicator is broken, even if this rank's part went well.
// REQUIRES: the caller keeps the communicator.
Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes);

}  // namespace weft
