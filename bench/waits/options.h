// The options of a measurement of waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

struct WaitsOptions {
    std::vector<std::string> situations = {"late", "chain", "test", "skew"};
    std::vector<std::string> engines = {"manual", "thread"};
    std::vector<std::string> collectives = {};  // empty: each situation's own
    std::string sizes = "";                     // "": each situation's own
    Testbed testbed = {.transport = "shm"};     // its ranks: of situations that may have any number
    int repetitions = 40;
    int skew_us = 100;
    std::uint64_t seed = 1;
    std::string json = "";  // file; "": none
};

// The options as this program's arguments, for the ranks.
std::vector<std::string> arguments(const WaitsOptions& options);

}  // namespace weft::bench
