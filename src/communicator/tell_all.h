// Ranks of a communicator tell each other what a collective call of theirs needs to know.
#pragma once

#include <cstddef>

#include "communicator/communicator.h"

namespace weft {

// Gathers `bytes` of every rank into `all`, by rank, and returns when that is done; the engine is
// let go of meanwhile. `what` is the call's name for sentences.
// Fails when the communicator is broken, also when this rank's part had gone well.
// REQUIRES: the caller keeps the communicator.
Status tell_all(Communicator& communicator, const char* what, const void* mine, void* all,
                std::size_t bytes);

}  // namespace weft
