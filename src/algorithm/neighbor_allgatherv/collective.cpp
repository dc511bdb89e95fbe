// Neighbor_allgatherv: as neighbor_allgather; contributions may differ in size, and results lie
// anywhere.
#include "algorithm/list.h"
#include "algorithm/neighbors.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(neighbor_alltoall_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

Family neighbor_allgatherv() {
    return {.collective = Collective::neighbor_allgatherv,
            .name = "neighbor_allgatherv",
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::neighbors),
            .sizes = Sizes::local,
            .promise = promise_same_block,
            .algorithms = list};
}

}  // namespace weft::algorithm
