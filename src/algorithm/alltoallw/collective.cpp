// Alltoallw: block s of rank r's result is block r of rank s's contribution; blocks may differ in size and
// type, and lie anywhere.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(alltoallv_flat) \
    line(alltoallv_pairwise)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, r}, {r, from});
    }
}

Family alltoallw() {
    return {.collective = Collective::alltoallw,
            .name = "alltoallw",
            .in_place = InPlace::send,
            .send = everywhere(Blocks::all),
            .recv = everywhere(Blocks::all),
            .sizes = Sizes::local,
            .has_types = true,
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
