// Ranks that agree.
#pragma once

#include <string>

#include "bench/job.h"

namespace weft::bench {

// The first rank's sentence that is not empty; "": all are. Collective.
std::string first_sentence(const Job& world, const std::string& mine);

}  // namespace weft::bench
