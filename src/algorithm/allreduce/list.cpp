// The algorithms of allreduce, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allreduce_recursive_doubling) \
    line(allreduce_ring) \
    line(allreduce_reduce_bcast)
// clang-format on

WEFT_DEFINE_LIST(allreduces, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
