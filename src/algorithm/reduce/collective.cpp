// Reduce: the root gets the combination of all ranks' blocks.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(reduce_binomial) \
    line(reduce_knomial) \
    line(reduce_circulant) \
    line(reduce_reduce_scatter_gather) \
    line(reduce_hierarchical) \
    line(reduce_bine)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) { p.combine(p.everyone(), 0, {p.root(), 0}); }

Family reduce() {
    return {.collective = Collective::reduce,
            .name = "reduce",
            .has_root = true,
            .reduces = true,
            .in_place = InPlace::send_at_root,
            .send = everywhere(Blocks::one),
            .recv = at_root(Blocks::one),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
