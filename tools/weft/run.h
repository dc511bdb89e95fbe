// `weft run`: starts the ranks of a job on this machine, on nodes or not, and sees them to their end.
#pragma once

#include <string>
#include <vector>

#include "weft/cluster.h"

namespace weft {

struct RunOptions {
    int ranks = 1;
    std::vector<int> cores;  // rank r is bound to the (r % size)-th; none: not bound
    ClusterOptions cluster;
    bool exec_per_node = false;  // the command starts the processes of the nodes itself
    bool prefix = false;
    double grace_s = 5;
    double timeout_s = 0;  // 0: none
    std::vector<std::string> command;
};

// Returns the exit status of the job: 0, 2 when the cluster cannot be built, that of the first rank that failed (128 + signal), 124
// after a timeout, 126 or 127 when the program cannot be started.
int run_job(const RunOptions& options);

}  // namespace weft
