// Allgather: every rank gets every rank's block, in rank order.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allgather_ring) \
    line(allgather_linear) \
    line(allgather_bruck) \
    line(allgather_standard_exchange) \
    line(allgather_circulant) \
    line(allgather_hierarchical) \
    line(allgather_multi_leader) \
    line(allgather_multi_group)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, 0}, {r, from});
    }
}

Family allgather() {
    return {.collective = Collective::allgather,
            .name = "allgather",
            .in_place = InPlace::send,
            .send = everywhere(Blocks::one),
            .recv = everywhere(Blocks::all),
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
