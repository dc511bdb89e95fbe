// Starts the ranks of a measurement beside MPIs: a job by each MPI's launcher, one after another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/launch.h"

namespace weft::bench {

// The options `--against` and `--async`.
struct Against {
    std::vector<std::string> mpis = {};  // empty: only Weft is measured
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

// A program of the bench, compiled by an MPI's mpicc.
struct MpiProgram {
    const char* mpi;
    std::string path;
    bool has_async;  // asynchronous progress on this testbed
    // Runs a command as every rank: the program's path and arguments, preceded by settings ("A=1"); with or without the
    // MPI's asynchronous progress. Returns its exit status.
    std::function<int(const std::vector<std::string>& words, bool async)> run;
};

// Compiles bench/`source` for each MPI, and calls `measure`. Leaves out MPIs that cannot be used, and prints why.
// Returns the first status that is not 0; 1 if there was no MPI.
int run_program_of_each(const Against& against, const Testbed& testbed, const std::string& source,
                        const std::function<int(const MpiProgram& program)>& measure);

// Rank r's core is the r-th of these, starting over at the end; empty: ranks are not bound here.
std::vector<int> cores_of_ranks(const Testbed& testbed);

// In a rank, before its MPI is loaded: binds it to a core if the testbed says so. (On an emulated
// node `weft run` has done that.)
void bind_rank(const Testbed& testbed);

}  // namespace weft::bench
