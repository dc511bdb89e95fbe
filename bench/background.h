// `weft bench background`: whether collectives of several rounds complete while the program sleeps.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct BackgroundOptions {
    // A collective and the algorithm that WEFT_ALGORITHM forces.
    std::vector<std::string> cases = {"ibcast:chain", "iallgather:ring", "iallgather:bruck",
                                      "igather:binomial"};
    std::string engine = "thread";
    std::string sizes = "64K,256K,1M";
    int repetitions = 30;
    Testbed testbed = {.ranks = 4, .nodes = 4};
};

// Starts a job for each case; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_background(const BackgroundOptions& options);

}  // namespace weft::bench
