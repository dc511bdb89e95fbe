// The options of a measurement of broadcasts along a chain behind a fixed computation.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"
#include "bench/testbed.h"

namespace weft::bench {

struct PipelineOptions {
    std::vector<std::string> engines = {"manual", "thread",      "kernel",        "kernel:own",
                                        "fiber",  "fiber:timer", "fiber:arrival", "thread:poll"};
    std::string sizes = "12500,125000,1250000,12500000";
    std::string segment = "64K";
    std::string compute = "auto";  // auto: OpenBLAS if it can be loaded; openblas; own
    int matrix = 64;               // rows and columns
    int repetitions = 10;
    bool sockets = false;   // also over plain sockets: 2 ranks
    std::string json = "";  // file; "": none
    Testbed testbed = {.ranks = 4};
    Against against = {};
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const PipelineOptions& options);

}  // namespace weft::bench
