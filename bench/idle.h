// `weft bench idle`: what waiting, and having nothing to do, costs in CPU time.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"

namespace weft::bench {

struct IdleOptions {
    std::vector<std::string> engines = {"manual", "thread"};
    double late_s = 10;  // how late the last rank is
    int ranks = 3;
    Against against = {};  // MPIs beside which Weft is measured
};

// Starts the ranks, or, in a rank, measures; rank 0 prints. Returns the exit status.
int bench_idle(const IdleOptions& options);

}  // namespace weft::bench
