// Gather: the root gets every rank's block, in rank order.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(gather_binomial) \
    line(gather_binary) \
    line(gather_flat) \
    line(gather_sequential) \
    line(gather_knomial) \
    line(gather_hierarchical) \
    line(gather_torus)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({r, 0}, {p.root(), r});
}

Family gather() {
    return {.collective = Collective::gather,
            .name = "gather",
            .has_root = true,
            .in_place = InPlace::send_at_root,
            .send = everywhere(Blocks::one),
            .recv = at_root(Blocks::all),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
