// Starts the ranks of a job and waits for its end.
#pragma once

#include <string>

#include "bench/scenario/scenario.h"

namespace weft::bench {

// Every rank is `weft bench-rank PLAN`. Returns the exit status. If the job cannot be started here,
// `why` says so in a sentence, and its cells are missing.
int launch_job(const JobPlan& job, const std::string& plan, std::string& why);

// The options of `weft run` for its nodes.
std::vector<std::string> node_words(const Cell& place);

// ... by the launcher of an MPI (bench/player/mpi_job.cpp).
int launch_by_mpi(const JobPlan& job, const std::string& plan, std::string& why);

}  // namespace weft::bench
