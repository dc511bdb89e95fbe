// The algorithms of bcast, one line each.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(bcast_binomial) \
    line(bcast_chain) \
    line(bcast_chain_rounds)
// clang-format on

#define WEFT_DECLARE(name) extern const Bcast name;
WEFT_ALGORITHMS(WEFT_DECLARE)

std::span<const Bcast* const> bcasts() {
#define WEFT_ADDRESS(name) &name,
    static constexpr const Bcast* list[] = {WEFT_ALGORITHMS(WEFT_ADDRESS)};
    return list;
}

}  // namespace weft::algorithm
