// The collectives, in the order of the catalogue.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

enum class Collective : std::uint8_t { barrier, bcast, allgather, allreduce };

inline constexpr std::size_t collectives = 4;

}  // namespace weft
