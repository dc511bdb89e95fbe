// `weft tune`: measures every algorithm that fits a job, and writes a table of the fastest (WEFT_TUNING).
#pragma once

#include <string>
#include <vector>

#include "bench/scenario/cell.h"

namespace weft::bench {

struct TuneOptions {
    std::vector<std::string> collectives;  // "iallreduce"; none: all
    std::string sizes = "8:4M";
    int repetitions = 60;              // at most, of each algorithm and size
    bool all_repetitions = false;      // none of them is left out
    bool overlapped = false;           // ranked beside a computation, by engine
    std::vector<std::string> engines;  // of these; none: that of WEFT_ENGINE, or those that matter
    std::string output = "weft.table";
    Cell place;
};

// Returns the exit status.
int tune(const TuneOptions& options);

}  // namespace weft::bench
