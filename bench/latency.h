// `weft bench latency`: how much time the library adds to a small message over sockets.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"
#include "bench/testbed.h"

namespace weft::bench {

struct LatencyOptions {
    std::vector<std::string> engines = {"manual", "thread"};
    int repetitions = 100;
    Testbed testbed = {.transport = "tcp"};
    Against against = {};  // MPIs to compare with, instead of sockets
};

// Starts two ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_latency(const LatencyOptions& options);

}  // namespace weft::bench
