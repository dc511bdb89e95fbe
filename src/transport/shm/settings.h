// Settings of the shared-memory transport, from the environment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace weft::shm {

// How the bytes of a large message get to its receiver.
enum class LargeMethod : std::uint8_t {
    ring,      // in parts through the ring: two copies, on both cores at once; how they are made
               // is measured
    vm_readv,  // by process_vm_readv: one copy, by the receiver alone
};

struct Settings {
    // shm_ring in WEFT_RESOURCES: of one pair's ring; a power of two
    std::size_t ring_bytes = std::size_t{2} << 20;
    // WEFT_RENDEZVOUS, in bytes. Messages larger than an eighth of the ring always wait for their
    // receive, to leave room for others.
    std::size_t eager_threshold = 8 * 1024 + 1;
    LargeMethod large = LargeMethod::ring;  // shm_large in WEFT_RESOURCES: one of these

    // As above, with rings that suit this machine's caches, smaller where there are many of them.
    static Settings defaults(std::size_t ranks_of_node);
    static Result<Settings> from_environment(std::size_t ranks_of_node);
};

}  // namespace weft::shm
