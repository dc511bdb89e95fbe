// The algorithms of allgather, one line each.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allgather_ring) \
    line(allgather_bruck)
// clang-format on

#define WEFT_DECLARE(name) extern const Allgather name;
WEFT_ALGORITHMS(WEFT_DECLARE)

std::span<const Allgather* const> allgathers() {
#define WEFT_ADDRESS(name) &name,
    static constexpr const Allgather* list[] = {WEFT_ALGORITHMS(WEFT_ADDRESS)};
    return list;
}

}  // namespace weft::algorithm
