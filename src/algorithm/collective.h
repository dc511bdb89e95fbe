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
    alltoallw,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
};

inline constexpr std::size_t collectives = 22;

}  // namespace weft
