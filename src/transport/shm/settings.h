// What can be set about the shared-memory transport, from the environment.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "transport/shm/copy_table.h"

namespace weft::shm {

struct Settings {
    std::size_t ring_bytes = 256 * 1024;  // WEFT_SHM_RING: of one pair's ring; a power of two
    // WEFT_RENDEZVOUS: messages of so many bytes wait for their receive; larger ones than an eighth
    // of the ring always do, to leave room for others.
    std::size_t rendezvous_bytes = 8 * 1024 + 1;
    LargeMethod large = LargeMethod::by_table;  // WEFT_SHM_LARGE: ring or vm_readv

    // As above, with smaller rings where there are many of them.
    static Settings defaults(std::size_t ranks_of_node);
    static Result<Settings> from_environment(std::size_t ranks_of_node);
};

}  // namespace weft::shm
