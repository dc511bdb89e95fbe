// Runs the programs ip and tc of iproute2 on a list of their commands.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace weft {

// `program` ("ip" or "tc") does all commands, in the network if that is not -1. A failure says which
// command failed and the program's own words for it. The program inherits the descriptors `lent`.
Status iproute(const char* program, const std::vector<std::string>& commands, int network = -1,
               const std::vector<int>& lent = {});

}  // namespace weft
