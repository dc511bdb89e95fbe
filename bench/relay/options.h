// What can be chosen of a measurement of relays.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct RelayOptions {
    // As of the library; "thread:long" is its thread with the ordinary, long slice of the scheduler.
    std::vector<std::string> engines = {"thread", "thread:long", "thread:poll", "kernel",
                                        "kernel:own"};
    std::string sizes = "8,4K,64K,1M,4M";
    Testbed testbed = {.ranks = 3, .transport = "tcp"};
    int repetitions = 30;
    int relays = 10;         // in a repetition
    bool pipelined = false;  // in segments, each passed on as soon as it is there
    bool populate = false;   // the middle rank is inside the operating system, not in a loop
    bool bars = false;       // say of rows that have a bar whether they keep it
    std::string json = "";   // file; "": none
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const RelayOptions& options);

}  // namespace weft::bench
