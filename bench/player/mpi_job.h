// The MPIs that the bench knows, and what their launchers need. launch_by_mpi() (bench/run/launch_job.h)
// starts a job.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/scenario/cell.h"

namespace weft::bench {

// The MPIs of these names, of which "all" is every one. Refuses others with a sentence.
Result<std::vector<std::string>> find_mpis(const std::vector<std::string>& names);

// In a rank that an MPI's launcher has started, before that MPI is loaded: binds it to its core, as
// `weft run` does.
void bind_launched_rank(const Cell& place);

}  // namespace weft::bench
