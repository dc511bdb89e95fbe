// A collective call as the caller made it, before any check.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithm/collective.h"
#include "base/status.h"
#include "shape/neighborhood.h"
#include "shape/topology.h"
#include "weft/types.h"

namespace weft {

class Torus;

// Blocks that differ: by rank or neighbor, in elements.
struct BlockArrays {
    const std::int64_t* counts = nullptr;
    const std::int64_t* displacements = nullptr;  // null: contiguous
    // If the collective has them; displacements are bytes then.
    const weft_type* types = nullptr;
};

struct Call {
    Collective collective = Collective::barrier;
    const void* send_buf = nullptr;  // or WEFT_IN_PLACE
    void* recv_buf = nullptr;        // bcast: its only buffer
    std::size_t count = 0;
    weft_type type = WEFT_BYTE;
    weft_op op = WEFT_OP_NULL;
    int root = 0;
    // The blocks of a buffer that has one for every rank or neighbor, if they differ. `count` is then the count of this
    // rank's block in the other buffer.
    BlockArrays send_blocks = {};
    BlockArrays recv_blocks = {};
    bool of_library = false;  // the library's own call: forced algorithms do not apply
};

// The caller.
struct CallingRank {
    Rank rank = 0;
    Rank ranks = 1;
    bool combines = false;  // all ranks' transports combine on arrival; the same on all ranks
    const Topology* topology = nullptr;       // of the communicator
    const Torus* torus = nullptr;             // null: its network was not declared to be one
    const Neighborhood* neighbors = nullptr;  // null: it has no Cartesian or graph topology
    bool reproducible = false;                // its setting
};

}  // namespace weft
