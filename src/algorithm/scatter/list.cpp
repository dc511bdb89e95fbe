// The algorithms of scatter, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(scatter_binomial) \
    line(scatter_flat)
// clang-format on

WEFT_DEFINE_LIST(scatters, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
