// Reduce-scatter: rank r gets the combination of all ranks' blocks r; blocks may differ in size.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(reduce_scatter_pairwise) \
    line(reduce_scatter_circulant) \
    line(reduce_scatter_recursive_halving)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine(p.everyone(), r, {r, 0});
}

Family reduce_scatter() {
    return {.collective = Collective::reduce_scatter,
            .name = "reduce_scatter",
            .reduces = true,
            .in_place = InPlace::send,
            .send = everywhere(Blocks::all),
            .recv = everywhere(Blocks::one),
            .sizes = Sizes::agreed,
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
