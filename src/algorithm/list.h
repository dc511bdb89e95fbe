// The collectives, each described in algorithm/<collective>/collective.cpp.
#pragma once

#include "algorithm/family.h"

namespace weft::algorithm {

Family barrier();
Family bcast();
Family gather();
Family scatter();
Family allgather();
Family alltoall();
Family reduce();
Family allreduce();
Family reduce_scatter_block();
Family allgatherv();
Family reduce_scatter();
Family scan();
Family exscan();
Family gatherv();
Family scatterv();
Family alltoallv();
Family alltoallw();
Family neighbor_allgather();
Family neighbor_allgatherv();
Family neighbor_alltoall();
Family neighbor_alltoallv();
Family neighbor_alltoallw();

}  // namespace weft::algorithm

// Defines `list`, the algorithms of a collective, from a macro that calls line(x) for each.
#define WEFT_DECLARE_ALGORITHM(name) extern const Algorithm name;
#define WEFT_ADDRESS_ALGORITHM(name) &name,
#define WEFT_DEFINE_LIST(LINES)   \
    LINES(WEFT_DECLARE_ALGORITHM) \
    static constexpr const Algorithm* list[] = {LINES(WEFT_ADDRESS_ALGORITHM)};
