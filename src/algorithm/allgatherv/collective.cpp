// Allgatherv: every rank gets every rank's block; blocks may differ in size and lie anywhere.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allgatherv_ring) \
    line(allgatherv_circulant)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, 0}, {r, from});
    }
}

Family allgatherv() {
    return {.collective = Collective::allgatherv,
            .name = "allgatherv",
            .in_place = InPlace::send,
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::all),
            .sizes = Sizes::agreed,
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
