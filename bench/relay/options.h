// The options of a measurement of relays.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct RelayOptions {
    // The library's; and "thread:long", its thread with the scheduler's ordinary, long slice.
    std::vector<std::string> engines = {"thread", "thread:long", "thread:poll", "kernel",
                                        "kernel:own"};
    std::string sizes = "8,4K,64K,1M,4M";
    Testbed testbed = {.ranks = 3, .transport = "tcp"};
    int repetitions = 30;
    int relays = 10;         // in a repetition
    bool pipelined = false;  // in segments, each passed on as soon as it arrives
    bool populate = false;   // the middle rank is inside the operating system, not in a loop
    bool bars = false;       // mark rows that have a bar as met or missed
    std::string json = "";   // file; "": none
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const RelayOptions& options);

}  // namespace weft::bench
