// Neighbor_alltoallw: as neighbor_alltoallv; blocks may differ in type as well.
#include "algorithm/list.h"
#include "algorithm/neighbors.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(neighbor_alltoall_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

Family neighbor_alltoallw() {
    return {.collective = Collective::neighbor_alltoallw,
            .name = "neighbor_alltoallw",
            .send = everywhere(Blocks::neighbors),
            .recv = everywhere(Blocks::neighbors),
            .sizes = Sizes::local,
            .has_types = true,
            .promise = promise_own_block,
            .algorithms = list};
}

}  // namespace weft::algorithm
