// Shared by the collectives among neighbors: on each edge of a topology, a block goes from one rank to another. A rank
// sends all its neighbors the same block, or each one its own.
#pragma once

#include "algorithm/problem.h"
#include "algorithm/promises.h"

namespace weft::algorithm {

// The block that this rank sends to its neighbor of that number.
inline Region outgoing(const Problem& in, std::size_t neighbor) {
    const auto block = static_cast<Rank>(neighbor);
    return in.send.block(block < in.send.count ? block : 0);
}

// Every rank gets a block from each neighbor: the same block as others get, or its own.
void promise_same_block(Promises& promises);
void promise_own_block(Promises& promises);

}  // namespace weft::algorithm
