// Runs a plan: a job after another, whose samples go to one file.
#pragma once

#include <string>
#include <vector>

#include "bench/scenario/scenario.h"

namespace weft::bench {

struct RunOptions {
    std::string samples;  // the file; replaced
    std::uint64_t seed = 1;
    std::vector<std::string> command;  // this program's arguments
};

// The first line of a file of samples.
Json run_line(const Json& scenarios, const RunOptions& options);

// Returns the exit status: 0, or that of the first job that failed.
int run(const Plan& plan, const RunOptions& options);

}  // namespace weft::bench
