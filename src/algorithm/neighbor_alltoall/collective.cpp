// Neighbor_alltoall: every rank sends a block to each of its neighbors in a topology, and gets one
// from each.
#include "algorithm/list.h"
#include "algorithm/neighbors.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(neighbor_alltoall_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

Family neighbor_alltoall() {
    return {.collective = Collective::neighbor_alltoall,
            .name = "neighbor_alltoall",
            .send = everywhere(Blocks::neighbors),
            .recv = everywhere(Blocks::neighbors),
            .sizes = Sizes::alike_on_rank,
            .promise = promise_own_block,
            .algorithms = list};
}

}  // namespace weft::algorithm
