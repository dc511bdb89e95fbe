// Starts the processes of a job: environment, core, standard streams, startup socket.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "weft/run_options.h"

namespace weft {

// A started rank and the launcher's ends of its socket and, with --prefix, its output.
struct Spawned {
    pid_t pid = -1;
    int error = 0;  // errno if pid is -1
    int startup_fd = -1;
    int in_fd = -1;  // of a client's input
    int out_fd = -1;
    int err_fd = -1;
};

// Why a child did not become the program; error 0: it did.
struct ExecFailure {
    int error = 0;
    const char* what = "";
};

class Spawner {
  public:
    // `mask`: the signals blocked in the program. `cluster`: null without nodes.
    Spawner(const RunOptions& options, const Cluster* cluster, const sigset_t& mask);
    ~Spawner();
    Spawner(const Spawner&) = delete;
    Spawner& operator=(const Spawner&) = delete;

    Spawned start(int rank);

    // Waits until every started child has become the program or failed. Start none afterwards.
    ExecFailure exec_failure();

  private:
    struct Streams {
        int startup_fd;
        int in_fd;  // -1: what the launcher has for rank 0, nothing for others
        int out_fd;
        int err_fd;
    };

    const std::vector<std::string>& command_of(int rank) const;
    void become_rank(int rank, int startup_fd);
    [[noreturn]] void become_program(int rank, const Streams& streams);
    [[noreturn]] void give_up(char what);

    const RunOptions& options_;
    const Cluster* const cluster_;
    const sigset_t& mask_;
    pid_t launcher_;
    int failures_in_ = -1;  // a pipe that closes when the last child has become the program
    int failures_out_ = -1;
};

}  // namespace weft
