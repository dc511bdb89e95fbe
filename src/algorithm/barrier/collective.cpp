// Barrier: no rank leaves before every rank has entered.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(barrier_dissemination) \
    line(barrier_hierarchical)
// clang-format on

WEFT_DEFINE_LIST(WEFT_ALGORITHMS)

static void promise(Promises& p) { p.synchronize(); }

Family barrier() {
    return {.collective = Collective::barrier,
            .name = "barrier",
            .promise = promise,
            .algorithms = list};
}

}  // namespace weft::algorithm
