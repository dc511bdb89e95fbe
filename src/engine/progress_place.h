// Where the progress thread of a rank runs.
#pragma once

#include <vector>

namespace weft {

struct ProgressPlace {
    // It is bound to them; empty: it runs where its rank does.
    std::vector<int> cores{};
    // Those of them on which ranks may compute, or on their hyperthreads.
    std::vector<int> shared{};
    // None is shared, and there is one for each thread that is bound to them.
    bool has_own_core = false;

    bool is_set_aside() const { return !cores.empty() && shared.empty(); }
};

}  // namespace weft
