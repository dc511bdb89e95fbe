// Starting the ranks of a measurement: this program again, under `weft run`.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

// True in a process that a launcher started as a rank.
bool is_rank();

struct Launch {
    int ranks = 2;
    std::string bind = "core";           // as `weft run --bind`
    std::vector<std::string> arguments;  // of this program, from "bench" on
};

// Runs the job to its end. Returns its exit status.
int launch(const Launch& job);

// Cores that this process may use.
int usable_cores();

}  // namespace weft::bench
