// The algorithms of allreduce, one line each.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

// clang-format off
#define WEFT_ALGORITHMS(line) \
    line(allreduce_recursive_doubling)
// clang-format on

#define WEFT_DECLARE(name) extern const Allreduce name;
WEFT_ALGORITHMS(WEFT_DECLARE)

std::span<const Allreduce* const> allreduces() {
#define WEFT_ADDRESS(name) &name,
    static constexpr const Allreduce* list[] = {WEFT_ALGORITHMS(WEFT_ADDRESS)};
    return list;
}

}  // namespace weft::algorithm
