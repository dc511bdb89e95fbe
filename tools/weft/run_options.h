// `weft run`: starts the ranks of a job on this machine, with or without nodes, and waits for them;
// or has programs on other hosts do so (hosts.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/cluster.h"

namespace weft {

// A process that the launcher starts instead of a rank: a client of ssh, which starts the ranks of a
// host.
struct HostClient {
    std::string name;  // "host node1"
    std::vector<std::string> command;
    std::string input;  // what it reads first; then its input ends with the job
};

// Where the ranks of this launcher are among those of a job on several hosts.
struct HostShare {
    int first = 0;
    int of_ranks = 0;
};

struct RunOptions {
    int ranks = 1;
    std::vector<HostClient> clients;  // not empty: one for each "rank"
    std::optional<HostShare> share;   // the job ends when standard input does
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
