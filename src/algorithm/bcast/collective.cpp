// Broadcast: every rank gets the block of the root.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(bcast_binomial) \
    line(bcast_binomial_libnbc) \
    line(bcast_knomial) \
    line(bcast_chain) \
    line(bcast_chain_rounds) \
    line(bcast_hierarchical) \
    line(bcast_scatter_allgather) \
    line(bcast_circulant) \
    line(bcast_bine)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({p.root(), 0}, {r, 0});
}

Family bcast() {
    return {.collective = Collective::bcast,
            .name = "bcast",
            .has_root = true,
            .in_place = InPlace::root_has_one_buffer,
            .send = at_root(Blocks::one),
            .recv = everywhere(Blocks::one),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
