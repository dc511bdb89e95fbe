// What can be set about the shared-memory transport, from the environment.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "transport/shm/copy_table.h"

namespace weft::shm {

struct Settings {
    std::size_t ring_bytes = 256 * 1024;  // WEFT_SHM_RING: of one pair's ring; a power of two
    std::size_t eager_bytes = 8 * 1024;   // WEFT_SHM_EAGER: larger messages wait for their receive
    LargeMethod large = LargeMethod::by_table;  // WEFT_SHM_LARGE: ring or vm_readv

    // As above, with smaller rings where there are many of them, and nothing larger than fits.
    static Settings defaults(std::size_t ranks_of_node);
    static Result<Settings> from_environment(std::size_t ranks_of_node);
};

}  // namespace weft::shm
