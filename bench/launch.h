// Starts the ranks of a measurement: this program again, under `weft run`.
#pragma once

#include <string>
#include <vector>

#include "bench/testbed.h"

namespace weft::bench {

// True if `weft run` or another launcher started this process as a rank of a measurement.
bool is_rank();

struct Launch {
    Testbed testbed;
    std::vector<std::string> arguments;      // this program's, from "bench" on
    std::vector<std::string> settings = {};  // the library's, such as "WEFT_ALGORITHM=bcast=chain"
};

// Runs this program with other arguments, words[0] being its name, to its end. Returns its exit
// status; 128 + a signal that ended this program meanwhile, too.
int run_program(std::vector<std::string> words, const std::vector<std::string>& settings);
// The signal that interrupted; 0: none.
int interrupted();

// Runs the job to its end. Returns its exit status.
int launch(const Launch& job);

// The environment settings of its ranks.
std::vector<std::string> settings_of(const Launch& job);

// Run a shell command to its end, here or beside the nodes of an emulated cluster (`weft run
// --exec-per-node`). Return its exit status.
int run_shell(const std::string& command);
int run_beside_nodes(const Testbed& testbed, const std::string& command);

// The path of this program.
std::string this_program();

// Whether `weft run` can provide this testbed here; if not, it has printed why.
bool is_available(const Testbed& testbed);

// Cores that this process may use.
int usable_cores();

}  // namespace weft::bench
