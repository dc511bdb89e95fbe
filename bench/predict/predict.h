// `weft bench predict`: what the simulator says about a job's collectives, with parameters that were measured before,
// beside what they take.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct PredictOptions {
    std::string model;                     // a file of `weft bench loggp --json`
    std::vector<std::string> collectives;  // "iallreduce"; none: all whose blocks have one size
    std::string sizes = "8,4K,64K,1M";
    int repetitions = 30;
    std::string json;
    Testbed testbed;
};

// Returns the exit status.
int bench_predict(const PredictOptions& options);

}  // namespace weft::bench
