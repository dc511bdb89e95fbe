// Everything needed to repeat a measurement, for its rows of JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"
#include "bench/json.h"
#include "bench/testbed.h"

namespace weft::bench {

// Command, build, machine, cores of each rank, settings. `arguments`: this program's, from "bench"
// on. Collective.
JsonLine circumstances(const Job& job, const Testbed& testbed,
                       const std::vector<std::string>& arguments);

}  // namespace weft::bench
