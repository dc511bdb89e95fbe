// Starts the ranks of a measurement beside MPIs: a job by each MPI's launcher, one after another.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/launch.h"

namespace weft::bench {

// The options `--against` and `--async`.
struct Against {
    std::vector<std::string> mpis = {};  // none: Weft alone is measured
    bool async = false;                  // with their own asynchronous progress

    bool is_wanted() const { return !mpis.empty(); }
};

// As options of `weft bench`.
std::vector<std::string> arguments(const Against& against);

// Refuses an unknown MPI, and a testbed that MPIs cannot have, with a sentence.
Status check(const Against& against, const Testbed& testbed);

// In the job of each MPI every rank is this program with `job.arguments`, and Rival::of_this_job()
// is that MPI. Leaves out MPIs that cannot be used, and prints why. Returns the exit status of the
// first job that failed; 1 if there was no MPI.
int launch_against(const Against& against, const Launch& job);

// In a rank, before its MPI is loaded: binds it to a core if the testbed says so. (On an emulated
// node `weft run` has done that.)
void bind_rank(const Testbed& testbed);

}  // namespace weft::bench
