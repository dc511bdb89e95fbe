// The algorithms of barrier, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(barrier_dissemination)
// clang-format on

WEFT_DEFINE_LIST(barriers, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
