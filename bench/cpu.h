// `weft bench cpu`: the CPU time that a large message takes, against blocking sockets.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct CpuOptions {
    std::vector<std::string> engines = {"thread", "kernel", "kernel:own"};
    std::string sizes = "4M";
    int repetitions = 30;
    bool bars = false;  // say of rows that have a bar whether they keep it
    Testbed testbed = {.transport = "tcp"};
};

// Starts two ranks, or, in a rank, measures; rank 0 prints. Returns the exit status.
int bench_cpu(const CpuOptions& options);

}  // namespace weft::bench
