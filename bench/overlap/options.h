// The options of an overlap measurement.
#pragma once

#include <string>
#include <vector>

#include "bench/rivals/launch.h"
#include "bench/testbed.h"

namespace weft::bench {

// The collectives that are compared with MPIs by default.
inline const std::vector<std::string> collectives_beside_mpis = {
    "ibarrier", "ibcast", "igather", "iallgather", "ialltoall", "iallreduce", "isend"};

struct OverlapOptions {
    std::vector<std::string> collectives = {"ibarrier", "ibcast", "iallgather", "iallreduce"};
    std::vector<std::string> engines = {"manual", "thread", "thread:poll"};
    std::string sizes = "8:4M";
    Testbed testbed = {};
    int repetitions = 30;
    int tests = 0;            // calls of weft_test during the computation
    std::string json = "";    // file; "": none
    double budget_s = 0;      // repetitions are left out rather than exceed it; 0: no limit
    Against against = {};     // MPIs to compare with
    bool attainable = false;  // also measure how much overlap plain sockets allow
    int copy_core = -1;       // also measure a plain copy thread on this core; -1: none
    bool summary = false;     // one short table; every engine is measured with the same work
    bool bars = false;        // mark rows that have a bar as met or missed
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const OverlapOptions& options);

}  // namespace weft::bench
