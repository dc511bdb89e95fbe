// Gatherv: the root gets every rank's block; blocks may differ in size and lie anywhere.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(gatherv_flat) \
    line(gatherv_sequential)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({r, 0}, {p.root(), r});
}

Family gatherv() {
    return {.collective = Collective::gatherv,
            .name = "gatherv",
            .has_root = true,
            .in_place = InPlace::send_at_root,
            .send = everywhere(Blocks::one),
            .recv = at_root(Blocks::all),
            .sizes = Sizes::local,
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
