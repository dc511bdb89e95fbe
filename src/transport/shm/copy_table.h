// Which way a large message goes, by its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::shm {

enum class LargeMethod : std::uint8_t {
    by_table,
    ring,      // in pieces through the ring: two copies, on both cores at once
    vm_readv,  // by process_vm_readv: one copy, by the receiver alone
};

// The measured best for a message of this size; never by_table.
LargeMethod large_method(std::size_t bytes);

}  // namespace weft::shm
