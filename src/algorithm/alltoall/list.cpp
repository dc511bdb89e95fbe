// The algorithms of alltoall, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(alltoall_pairwise) \
    line(alltoall_flat) \
    line(alltoall_bruck)
// clang-format on

WEFT_DEFINE_LIST(alltoalls, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
