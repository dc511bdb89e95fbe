// What a process in the background of `weft run` does first.
#pragma once

#include <vector>

namespace weft {

// Leaves the terminal, blocks all signals, and closes all descriptors but these: the launcher's
// output and what it has inherited must not stay open.
void go_to_background(const char* name, std::vector<int> fds);

}  // namespace weft
