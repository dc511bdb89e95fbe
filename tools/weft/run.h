// `weft run`: starts the ranks of a job on this machine, with or without nodes, and waits for them.
#pragma once

#include <string>
#include <vector>

#include "weft/cluster.h"

namespace weft {

struct RunOptions {
    int ranks = 1;
    std::vector<int> cores;  // rank r is bound to core number (r % size) of these; none: not bound
    ClusterOptions cluster;
    bool exec_per_node = false;  // the command itself starts the processes on the nodes
    bool prefix = false;
    double grace_s = 5;
    double timeout_s = 0;  // 0: none
    std::vector<std::string> command;
};

// Returns the exit status of the job: 0; that of the first rank that failed (128 + signal); 2 if
// the cluster cannot be built; 124 after a timeout; 126 or 127 if the program cannot be started.
int run_job(const RunOptions& options);

}  // namespace weft
