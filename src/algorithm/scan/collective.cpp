// Scan: rank r gets the combination of the blocks of ranks 0..r.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(scan_recursive_doubling) \
    line(scan_linear) \
    line(scan_hypercube) \
    line(scan_transposed)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine({0, r}, 0, {r, 0});
}

Family scan() {
    return {.collective = Collective::scan,
            .name = "scan",
            .reduces = true,
            .in_place = InPlace::send,
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::one),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
