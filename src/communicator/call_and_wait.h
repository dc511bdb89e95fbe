// The library's own blocking collectives, by which the ranks of a communicator agree on something.
#pragma once

#include <cstddef>

#include "communicator/communicator.h"

namespace weft {

// Starts the call and waits for its end, with the engine released. `what` names the caller's call
// in messages. Fails when the communicator is broken, even if this rank's part went well. REQUIRES:
// the caller keeps the communicator; before the first of several, check_starter() was ok. (Between
// them another thread may change the engine.)
Status call_and_wait(Communicator& communicator, const char* what, const weft_call& call);

// Gathers `bytes` of every rank into `all`, by rank.
Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes);

}  // namespace weft
