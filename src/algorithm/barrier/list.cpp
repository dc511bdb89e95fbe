// The algorithms of barrier, one line each.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(barrier_dissemination)
// clang-format on

#define WEFT_DECLARE(name) extern const Barrier name;
WEFT_ALGORITHMS(WEFT_DECLARE)

std::span<const Barrier* const> barriers() {
#define WEFT_ADDRESS(name) &name,
    static constexpr const Barrier* list[] = {WEFT_ALGORITHMS(WEFT_ADDRESS)};
    return list;
}

}  // namespace weft::algorithm
