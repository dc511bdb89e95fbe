// Runs the programs ip and tc of iproute2 on a list of their commands.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace weft {

// `program` ("ip" or "tc") runs all commands, in the network unless that is -1. A failure quotes
// the command that failed and the program's own message. The program inherits the descriptors
// `lent`.
Status iproute(const char* program, const std::vector<std::string>& commands, int network = -1,
               const std::vector<int>& lent = {});

}  // namespace weft
