// The collectives, in the order of the catalogue.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce,
    allreduce,
    reduce_scatter_block,
    allgatherv,
    reduce_scatter,
    scan,
    exscan,
    gatherv,
    scatterv,
    alltoallv,
};

inline constexpr std::size_t collectives = 16;

}  // namespace weft
