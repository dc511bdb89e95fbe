// Starting the ranks of a measurement beside MPIs: a job of each MPI's launcher, one after the other.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/launch.h"

namespace weft::bench {

// As `--against` and `--async` say it.
struct Against {
    std::vector<std::string> mpis = {};  // none: Weft alone is measured
    bool async = false;                  // with their own asynchronous progress

    bool is_wanted() const { return !mpis.empty(); }
};

// As options of `weft bench`.
std::vector<std::string> arguments(const Against& against);

// Refuses an MPI that the bench does not know, and a testbed that it cannot give to one, with a
// sentence.
Status check(const Against& against, const Testbed& testbed);

// In the job of each MPI every rank is this program with `job.arguments`, and Rival::of_this_job()
// is that MPI. One that is not there is left out, and its absence printed. Returns the exit status
// of the first job that failed; 1 when no MPI was there.
int launch_against(const Against& against, const Launch& job);

// In a rank, before its MPI is loaded: stay on a core of its own if the testbed says so. (On an
// emulated node it does from its start.)
void bind_rank(const Testbed& testbed);

}  // namespace weft::bench
