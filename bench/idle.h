// `weft bench idle`: the CPU time of waiting, and of having nothing to do.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"

namespace weft::bench {

struct IdleOptions {
    std::vector<std::string> engines = {"manual", "thread"};
    double late_s = 10;  // how late the last rank is
    int ranks = 3;
    Against against = {};  // MPIs to compare with
};

// Starts the ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_idle(const IdleOptions& options);

}  // namespace weft::bench
