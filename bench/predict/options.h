// The options of `weft bench predict`.
#pragma once

#include <string>
#include <vector>

#include "bench/scenario/cell.h"

namespace weft::bench {

struct PredictOptions {
    // Files of `weft bench loggp --json`:
    std::string model;
    std::string inside;                    // of ranks of one node; empty: as between nodes
    std::string shared;                    // of ranks that share a core
    std::vector<std::string> collectives;  // "iallreduce"; none: all whose blocks have one size
    std::string sizes = "8,4K,64K,1M,4M";
    int repetitions = 30;
    bool idle_share = false;  // of the CPU, by the case paper's equations, instead of times
    std::string json;
    Cell place;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PredictOptions, model, inside, shared, collectives, sizes,
                                   repetitions, json)

}  // namespace weft::bench
