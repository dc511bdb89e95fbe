#include "weft/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/cores.h"

namespace weft {
namespace {

// What a child was doing when it failed: a byte before errno on the pipe.
enum : char { enter_failed = 'e', bind_failed = 'b', redirect_failed = 'r', exec_failed = 'x' };

struct Report {
    char what;
    int error;
};

void close_if_open(int fd) {
    if (fd >= 0) ::close(fd);
}

void set_number(const char* name, int value) { ::setenv(name, std::to_string(value).c_str(), 1); }

}  // namespace

Spawner::Spawner(const RunOptions& options, const Cluster* cluster, const sigset_t& mask)
    : options_(options), cluster_(cluster), mask_(mask), launcher_(::getpid()) {
    for (const std::string& argument : options_.command) {
        arguments_.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments_.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
        failures_in_ = ends[0];
        failures_out_ = ends[1];
    }
}

Spawner::~Spawner() {
    close_if_open(failures_in_);
    close_if_open(failures_out_);
}

Spawned Spawner::start(int rank) {
    Spawned spawned;
    int sockets[2] = {-1, -1};
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    bool is_ready =
        failures_in_ >= 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 &&
        (!options_.prefix || (::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0));
    if (is_ready) spawned.pid = ::fork();
    if (spawned.pid == 0) become_program(rank, sockets[1], out[1], err[1]);
    spawned.error = errno;
    close_if_open(sockets[1]);
    close_if_open(out[1]);
    close_if_open(err[1]);
    if (spawned.pid < 0) {
        close_if_open(sockets[0]);
        close_if_open(out[0]);
        close_if_open(err[0]);
        return spawned;
    }
    spawned.startup_fd = sockets[0];
    spawned.out_fd = out[0];
    spawned.err_fd = err[0];
    for (int fd : {out[0], err[0]}) {
        if (fd >= 0) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return spawned;
}

void Spawner::give_up(char what) {
    Report report{what, errno};
    [[maybe_unused]] ssize_t written = ::write(failures_out_, &report, sizeof report);
    ::_exit(127);
}

void Spawner::become_rank(int rank, int startup_fd) {
    // If weft run itself is a rank of a job.
    for (const char* name : {"WEFT_STARTUP", "WEFT_STARTUP_DIR"}) ::unsetenv(name);
    set_number("WEFT_RANK", rank);
    set_number("WEFT_RANKS", options_.ranks);
    set_number("WEFT_STARTUP_FD", startup_fd);
    if (cluster_ != nullptr) {
        cluster_->offer_links();
    } else {  // all ranks are on this machine: none must be reachable from outside
        ::setenv("WEFT_INTERFACES", "lo", 0);
    }
    ::fcntl(startup_fd, F_SETFD, 0);

    const int node = rank * options_.cluster.nodes / options_.ranks;
    if (cluster_ != nullptr && !cluster_->enter(node)) give_up(enter_failed);
    const std::vector<int>& cores = options_.cores;
    if (!cores.empty() && !bind_to({cores[static_cast<std::size_t>(rank) % cores.size()]})) {
        give_up(bind_failed);
    }
}

void Spawner::become_program(int rank, int startup_fd, int out_fd, int err_fd) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher_) ::_exit(127);  // it died before the line above

    if (options_.exec_per_node) {
        // Not a rank, even if weft run itself is one.
        for (const char* name : {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD", "WEFT_STARTUP",
                                 "WEFT_STARTUP_DIR"}) {
            ::unsetenv(name);
        }
    } else {
        become_rank(rank, startup_fd);
    }
    if (rank > 0) {
        int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) give_up(redirect_failed);
    }
    if (options_.prefix &&
        (::dup2(out_fd, STDOUT_FILENO) < 0 || ::dup2(err_fd, STDERR_FILENO) < 0)) {
        give_up(redirect_failed);
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    ::execvp(arguments_[0], arguments_.data());
    give_up(exec_failed);
}

ExecFailure Spawner::exec_failure() {
    close_if_open(failures_out_);
    failures_out_ = -1;
    Report report{};
    if (::read(failures_in_, &report, sizeof report) != sizeof report) return {};
    switch (report.what) {
        case enter_failed: return {report.error, "enter the node of"};
        case bind_failed: return {report.error, "bind to a core before starting"};
        case redirect_failed: return {report.error, "redirect the streams of"};
        default: return {report.error, "start"};
    }
}

}  // namespace weft
