// Starting the ranks of a measurement: this program again, under `weft run`.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

// True in a process that a launcher started as a rank.
bool is_rank();

struct Launch {
    Testbed testbed;
    std::vector<std::string> arguments;      // of this program, from "bench" on
    std::vector<std::string> settings = {};  // of the library, as "WEFT_ALGORITHM_BCAST=chain"
};

// Runs the job to its end. Returns its exit status.
int launch(const Launch& job);

// Whether `weft run` can provide this testbed here; it has printed why not.
bool is_available(const Testbed& testbed);

// Cores that this process may use.
int usable_cores();

}  // namespace weft::bench
