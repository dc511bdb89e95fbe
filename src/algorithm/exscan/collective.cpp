// Exclusive scan: rank r gets the combination of the blocks of ranks 0..r-1; rank 0 gets nothing.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(exscan_recursive_doubling) \
    line(exscan_linear) \
    line(exscan_hypercube) \
    line(exscan_transposed)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 1; r < p.ranks(); ++r) p.combine({0, r - 1}, 0, {r, 0});
}

Family exscan() {
    return {.collective = Collective::exscan,
            .name = "exscan",
            .reduces = true,
            .in_place = InPlace::send,
            .send = everywhere(Blocks::one),
            .recv = {.root = Blocks::none, .others = Blocks::one},  // of the first rank
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
