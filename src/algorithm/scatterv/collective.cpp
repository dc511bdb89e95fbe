// Scatterv: every rank gets its block from the root; blocks may differ in size and lie anywhere.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(scatterv_flat)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({p.root(), r}, {r, 0});
}

Family scatterv() {
    return {.collective = Collective::scatterv,
            .name = "scatterv",
            .has_root = true,
            .in_place = InPlace::recv_at_root,
            .send = at_root(Blocks::all),
            .recv = everywhere(Blocks::one),
            .sizes = Sizes::local,
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
