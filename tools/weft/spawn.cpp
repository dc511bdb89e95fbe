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
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    bool is_ready =
        failures_in_ >= 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 &&
        (options_.clients.empty() ||
         ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0) &&
        (!options_.prefix || (::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0));
    if (is_ready) spawned.pid = ::fork();
    if (spawned.pid == 0) become_program(rank, {sockets[1], in[0], out[1], err[1]});
    spawned.error = errno;
    close_if_open(sockets[1]);
    close_if_open(in[0]);
    close_if_open(out[1]);
    close_if_open(err[1]);
    if (spawned.pid < 0) {
        close_if_open(sockets[0]);
        close_if_open(in[1]);
        close_if_open(out[0]);
        close_if_open(err[0]);
        return spawned;
    }
    spawned.startup_fd = sockets[0];
    spawned.in_fd = in[1];
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

const std::vector<std::string>& Spawner::command_of(int rank) const {
    return options_.clients.empty() ? options_.command
                                    : options_.clients[static_cast<std::size_t>(rank)].command;
}

void Spawner::become_rank(int rank, int startup_fd) {
    if (options_.share) {  // hosts.cpp has set how they find each other
        set_number("WEFT_RANK", options_.share->first + rank);
        set_number("WEFT_RANKS", options_.share->of_ranks);
        return;
    }
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

void Spawner::become_program(int rank, const Streams& streams) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher_) ::_exit(127);  // it died before the line above

    if (options_.exec_per_node || !options_.clients.empty()) {
        // Not a rank, even if weft run itself is one.
        for (const char* name :
             {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD", "WEFT_STARTUP", "WEFT_STARTUP_DIR"}) {
            ::unsetenv(name);
        }
    } else {
        become_rank(rank, streams.startup_fd);
    }
    int in = streams.in_fd;
    if (in < 0 && (rank > 0 || options_.share)) in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool has_own_input = streams.in_fd >= 0 || rank > 0 || options_.share;
    if (has_own_input && (in < 0 || ::dup2(in, STDIN_FILENO) < 0)) give_up(redirect_failed);
    if (options_.prefix &&
        (::dup2(streams.out_fd, STDOUT_FILENO) < 0 || ::dup2(streams.err_fd, STDERR_FILENO) < 0)) {
        give_up(redirect_failed);
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    std::vector<char*> arguments;
    for (const std::string& argument : command_of(rank))
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
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
