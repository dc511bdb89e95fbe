// Makes communicators from lists of ranks, without messages: the ranks agree on a number
// beforehand, and the communicator's context is a hash of it.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "process/process.h"

namespace weft {

struct Members {
    std::uint64_t number = 0;
    std::span<const Rank> ranks;                    // of the job, by rank in the communicator
    Rank rank = 0;                                  // this process's there
    std::unique_ptr<const Neighborhood> neighbors;  // null: no topology
};

// Does not block. Refuses a number whose context a communicator of this rank has. It has the
// settings of world, but uses all links, and no dedicated connections.
Result<Communicator*> make_from_members(Process& process, Members members);

}  // namespace weft
