// Scatter: rank r gets the root's block r.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(scatter_binomial) \
    line(scatter_flat) \
    line(scatter_knomial) \
    line(scatter_hierarchical)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({p.root(), r}, {r, 0});
}

Family scatter() {
    return {.collective = Collective::scatter,
            .name = "scatter",
            .has_root = true,
            .in_place = InPlace::recv_at_root,
            .send = at_root(Blocks::all),
            .recv = everywhere(Blocks::one),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
