// `weft bench dropin`: an MPI program with and without the drop-in library.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"
#include "bench/testbed.h"

namespace weft::bench {

struct DropinOptions {
    std::vector<std::string> measures = {"overlap", "latency"};
    std::vector<std::string> collectives = {"ibcast",    "igather", "iallgather",
                                            "ialltoall", "ireduce", "iallreduce"};
    std::string sizes = "64K:16M";   // of overlap
    std::string latency_sizes = "";  // "": 8:4M, between nodes 8; of blocking 8,1K,64K,1M
    Testbed testbed = {};
    // A job with and a job without the library; for latency and blocking only one with it.
    int rounds = 6;
    int repetitions = 3;  // of overlap in each job
    int turns = 5;        // of the other measures in each job
    std::string json = "";
    Against against = {};
};

// Starts the jobs, and prints. In a rank that `weft run` has started it measures the CPU time of a plain exchange.
// Returns the exit status.
int bench_dropin(const DropinOptions& options);

}  // namespace weft::bench
