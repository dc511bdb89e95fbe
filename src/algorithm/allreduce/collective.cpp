// Allreduce: every rank gets the combination of all ranks' blocks.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allreduce_recursive_doubling) \
    line(allreduce_ring) \
    line(allreduce_rabenseifner) \
    line(allreduce_reduce_bcast) \
    line(allreduce_circulant) \
    line(allreduce_reduce_scatter_allgather) \
    line(allreduce_hierarchical) \
    line(allreduce_bine) \
    line(allreduce_swing)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine(p.everyone(), 0, {r, 0});
}

Family allreduce() {
    return {.collective = Collective::allreduce,
            .name = "allreduce",
            .reduces = true,
            .in_place = InPlace::send,
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::one),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
