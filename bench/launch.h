// Starts the ranks of a measurement: this program again, under `weft run`.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

// True if `weft run` or another launcher started this process as a rank of a measurement.
bool is_rank();

// Runs this program with other arguments, words[0] being its name, to its end. Returns its exit
// status; 128 + a signal that ended this program meanwhile, too.
int run_program(std::vector<std::string> words, const std::vector<std::string>& settings);
// The signal that interrupted; 0: none.
int interrupted();

// Runs a shell command likewise.
int run_shell(const std::string& command);

// The path of this program.
std::string this_program();

}  // namespace weft::bench
