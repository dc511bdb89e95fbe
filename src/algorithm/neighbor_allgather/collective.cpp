// Neighbor_allgather: every rank sends its contribution to all its neighbors in a topology, and gets
// theirs.
#include "algorithm/list.h"
#include "algorithm/neighbors.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(neighbor_alltoall_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

Family neighbor_allgather() {
    return {.collective = Collective::neighbor_allgather,
            .name = "neighbor_allgather",
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::neighbors),
            .sizes = Sizes::alike_on_rank,
            .promise = promise_same_block,
            .algorithms = list};
}

}  // namespace weft::algorithm
