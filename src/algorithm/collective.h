// The collectives, in the order of the catalogue.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

enum class Collective : std::uint8_t {
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) name,
#include "algorithm/collectives.def"
#undef COLLECTIVE
};

inline constexpr std::size_t collectives = 0
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) +1
#include "algorithm/collectives.def"
#undef COLLECTIVE
    ;

// By Collective: whether it is for communicators with a topology.
inline constexpr bool among_neighbors[] = {
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) false,
#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root) true,
#include "algorithm/collectives.def"
#undef COLLECTIVE
};

}  // namespace weft
