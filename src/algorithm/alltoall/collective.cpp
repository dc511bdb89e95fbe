// Alltoall: block s of rank r's result is block r of rank s's contribution.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(alltoall_shift) \
    line(alltoall_pairwise) \
    line(alltoall_flat) \
    line(alltoall_bruck) \
    line(alltoall_hierarchical) \
    line(alltoall_torus)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, r}, {r, from});
    }
}

Family alltoall() {
    return {.collective = Collective::alltoall,
            .name = "alltoall",
            .in_place = InPlace::send,
            .send = everywhere(Blocks::all),
            .recv = everywhere(Blocks::all),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
