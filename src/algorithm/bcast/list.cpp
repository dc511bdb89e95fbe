// The algorithms of bcast, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(bcast_binomial) \
    line(bcast_chain) \
    line(bcast_chain_rounds)
// clang-format on

WEFT_DEFINE_LIST(bcasts, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
