// The progress engines chosen for a measurement.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "weft/comm.h"

namespace weft::bench {

struct Engine {
    const char* name;
    weft_engine value;
};

// Refuses an unknown name with a sentence that lists the known ones.
Result<Engine> find_engine(const std::string& name);
Result<std::vector<Engine>> find_engines(const std::vector<std::string>& names);

}  // namespace weft::bench
