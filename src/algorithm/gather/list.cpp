// The algorithms of gather, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(gather_binomial) \
    line(gather_binary) \
    line(gather_flat) \
    line(gather_sequential)
// clang-format on

WEFT_DEFINE_LIST(gathers, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
