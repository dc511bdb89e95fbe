// The algorithms of reduce, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(reduce_binomial)
// clang-format on

WEFT_DEFINE_LIST(reduces, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
