// `weft bench cpu`: the CPU time that a large message takes, compared with blocking sockets.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct CpuOptions {
    std::vector<std::string> engines = {"thread", "kernel", "kernel:own"};
    std::string sizes = "4M";
    int repetitions = 30;
    bool bars = false;  // mark rows that have a bar as met or missed
    Testbed testbed = {.transport = "tcp"};
};

// Starts two ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_cpu(const CpuOptions& options);

}  // namespace weft::bench
