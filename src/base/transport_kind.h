// The transports by name: what WEFT_TRANSPORT and `weft bench --transport` take, and `weft info`
// lists.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

enum class TransportKind : std::uint8_t { automatic, shm, tcp, ucx, mpi };

struct TransportTraits {
    TransportKind kind;
    const char* name;  // for WEFT_TRANSPORT
    bool is_built = true;
    bool needs_mpi = false;  // the program's
};

inline constexpr std::array transport_list = {
    TransportTraits{.kind = TransportKind::automatic, .name = "auto"},
    TransportTraits{.kind = TransportKind::shm, .name = "shm"},
    TransportTraits{.kind = TransportKind::tcp, .name = "tcp", .is_built = WEFT_HAS_TCP != 0},
    TransportTraits{.kind = TransportKind::ucx, .name = "ucx", .is_built = WEFT_HAS_UCX != 0},
    TransportTraits{.kind = TransportKind::mpi, .name = "mpi", .needs_mpi = true},
};

}  // namespace weft
