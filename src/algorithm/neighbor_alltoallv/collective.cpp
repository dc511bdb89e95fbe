// Neighbor_alltoallv: as neighbor_alltoall; blocks may differ in size and lie anywhere.
#include "algorithm/list.h"
#include "algorithm/neighbors.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(neighbor_alltoall_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

Family neighbor_alltoallv() {
    return {.collective = Collective::neighbor_alltoallv,
            .name = "neighbor_alltoallv",
            .send = everywhere(Blocks::neighbors),
            .recv = everywhere(Blocks::neighbors),
            .sizes = Sizes::local,
            .promise = promise_own_block,
            .algorithms = list};
}

}  // namespace weft::algorithm
