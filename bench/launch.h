// Starting the ranks of a measurement: this program again, under `weft run`.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

// True in a process that `weft run` or another launcher started as a rank of a measurement.
bool is_rank();

struct Launch {
    Testbed testbed;
    std::vector<std::string> arguments;      // of this program, from "bench" on
    std::vector<std::string> settings = {};  // of the library, as "WEFT_ALGORITHM_BCAST=chain"
};

// Runs the job to its end. Returns its exit status.
int launch(const Launch& job);

// What the ranks of it find in their environment.
std::vector<std::string> settings_of(const Launch& job);

// Runs a command of the shell here, or beside the nodes of an emulated cluster (`weft run
// --exec-per-node`), to its end. Returns its exit status.
int run_shell(const std::string& command);
int run_beside_nodes(const Testbed& testbed, const std::string& command);

// The path of this program.
std::string this_program();

// Whether `weft run` can provide this testbed here; it has printed why not.
bool is_available(const Testbed& testbed);

// Cores that this process may use.
int usable_cores();

}  // namespace weft::bench
