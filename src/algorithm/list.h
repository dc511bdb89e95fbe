// The lists of algorithms, one per collective: declared here, each defined in its folder.
#pragma once

#include <span>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

using List = std::span<const Algorithm* const>;

List barriers();
List bcasts();
List gathers();
List scatters();
List allgathers();
List alltoalls();
List reduces();
List allreduces();

}  // namespace weft::algorithm

// Defines one of them from a macro that calls line(x) for every algorithm x.
#define WEFT_DECLARE_ALGORITHM(name) extern const Algorithm name;
#define WEFT_ADDRESS_ALGORITHM(name) &name,
#define WEFT_DEFINE_LIST(function, LINES)                                           \
    LINES(WEFT_DECLARE_ALGORITHM)                                                   \
    List function() {                                                               \
        static constexpr const Algorithm* list[] = {LINES(WEFT_ADDRESS_ALGORITHM)}; \
        return list;                                                                \
    }
