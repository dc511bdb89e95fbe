// Commands that measure in a way of their own, in a job as any other: `weft bench loggp`, `weft
// bench predict`, `weft tune`.
#pragma once

#include <string>

#include "bench/scenario/scenario.h"

namespace weft::bench {

struct Task {
    std::string command;   // "loggp"
    Json options;          // that command's, for its ranks
    Cell place;            // of the job: ranks, nodes, link, cores, transport, engine
    std::string mpi = "";  // whose launcher starts the ranks; "": `weft run`
};

// Runs the job to its end: every rank calls the command's function. In a rank that another launcher has started: that rank's
// part. Returns the exit status.
int launch_task(const Task& task);

// What a rank calls. `about` says how, where and by which build it is measured.
using TaskRank = int(const Json& options, const Cell& place, const Json& about);
TaskRank run_loggp_rank, run_predict_rank, run_tune_rank;

// In a rank, with the plan of launch_task().
int run_task(const Json& plan);

// "2 ranks on 2 emulated nodes, links of 1gbit"
std::string description(const Cell& place);

}  // namespace weft::bench
