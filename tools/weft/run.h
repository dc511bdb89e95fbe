// `weft run`: starts the ranks of a job on this machine and sees them to their end.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct RunOptions {
    int ranks = 1;
    bool bind_core = false;
    bool prefix = false;
    double grace_s = 5;
    double timeout_s = 0;  // 0: none
    std::vector<std::string> command;
};

// Returns the exit status of the job: 0, that of the first rank that failed (128 + signal), 124
// after a timeout, 126 or 127 when the program cannot be started.
int run_job(const RunOptions& options);

}  // namespace weft
