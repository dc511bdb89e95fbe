// What can be chosen of an overlap measurement.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct OverlapOptions {
    std::vector<std::string> collectives = {"ibarrier", "ibcast", "iallgather", "iallreduce"};
    std::vector<std::string> engines = {"manual", "thread", "thread:poll"};
    std::string sizes = "8:4M";
    int ranks = 2;
    int repetitions = 30;
    int tests = 0;  // calls of weft_test within the computation
    std::string bind = "core";
    std::string json = "";  // file; "": none
    double budget_s = 0;    // repetitions are left out rather than exceed it; 0: no limit
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const OverlapOptions& options);

}  // namespace weft::bench
