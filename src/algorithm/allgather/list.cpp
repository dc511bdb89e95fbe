// The algorithms of allgather, one line each.
#include "algorithm/list.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allgather_ring) \
    line(allgather_bruck) \
    line(allgather_standard_exchange)
// clang-format on

WEFT_DEFINE_LIST(allgathers, WEFT_ALGORITHMS)

}  // namespace weft::algorithm
