// A running job: its processes, their output, their startup, and how they end. One thread sleeps in
// poll() on a signalfd, the ranks' startup sockets and, with --prefix, their output.
// Invariants: every process started here has been reaped or is running; PDEATHSIG ends it if the
// launcher dies.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "startup/card_server.h"
#include "weft/lines.h"
#include "weft/run_options.h"
#include "weft/spawn.h"

namespace weft {
namespace {

constexpr int forwarded_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                     SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH};
// Those that would end a client of ssh, which does not pass them on: as characters of its input.
struct SignalOverInput {
    int number;
    char character;
};
constexpr SignalOverInput signals_over_input[] = {{SIGUSR1, '1'}, {SIGUSR2, '2'}};
constexpr int status_of_timeout = 124;
constexpr int status_of_refusal = 2;
constexpr double kill_after_s = 2;  // from SIGTERM to SIGKILL

std::int64_t in_seconds(double seconds) {
    return now_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

// The cores of each node: one, or several if there are more cores than nodes.
std::vector<std::vector<int>> cores_of_nodes(const RunOptions& options) {
    const std::size_t nodes = static_cast<std::size_t>(options.cluster.nodes);
    const std::vector<int>& cores = options.cores;
    std::vector<std::vector<int>> dealt(nodes);
    for (std::size_t i = 0; i < std::max(cores.size(), nodes) && !cores.empty(); ++i) {
        const std::size_t node = cores.size() > nodes ? i * nodes / cores.size() : i;
        dealt[node].push_back(cores[i % cores.size()]);
    }
    return dealt;
}

class Job {
  public:
    Job(const RunOptions& options, const Cluster* cluster, const JobKey& key)
        : options_(options), cluster_(cluster), cards_(key) {}
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    int run();

  private:
    enum class Stage { running, grace, terminating, killing };

    bool start();
    void step();
    void on_signal();
    void on_input();
    void reap(pid_t which);
    void on_exit(std::size_t rank, int wait_status);
    void on_deadline();
    void signal_all(int signal);
    void end_all();
    void enter(Stage stage, double seconds);
    void kill_orphans();
    int first_rank() const { return options_.share ? options_.share->first : 0; }
    std::string who(std::size_t rank) const;

    const RunOptions& options_;
    const Cluster* const cluster_;
    sigset_t outer_mask_{};
    int signal_fd_ = -1;
    std::vector<pid_t> pids_;  // by rank; 0 once reaped
    std::size_t running_ = 0;
    CardServer cards_;
    std::vector<Fd> inputs_;  // of clients, as long as the job runs
    std::vector<LinePrefixer> outputs_;
    bool watches_input_ = false;
    Stage stage_ = Stage::running;
    std::int64_t deadline_ns_ = -1;  // when the stage ends; -1: never
    int status_ = 0;
};

Job::~Job() {
    if (signal_fd_ >= 0) ::close(signal_fd_);
}

int Job::run() {
    // Processes that a rank leaves behind become our children, so that kill_orphans() finds them.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t mask;
    sigemptyset(&mask);
    for (int signal : forwarded_signals) sigaddset(&mask, signal);
    sigaddset(&mask, SIGCHLD);
    ::signal(SIGCHLD, SIG_DFL);
    ::sigprocmask(SIG_BLOCK, &mask, &outer_mask_);
    signal_fd_ = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd_ < 0) {
        std::fprintf(stderr, "weft run: signalfd: %s\n", std::strerror(errno));
        return 1;
    }
    if (options_.share) {
        // The connection that our output goes to may end before we have ended the ranks. (They
        // have the signal as we had it.)
        sigemptyset(&mask);
        sigaddset(&mask, SIGPIPE);
        ::sigprocmask(SIG_BLOCK, &mask, nullptr);
    }
    if (options_.timeout_s > 0) deadline_ns_ = in_seconds(options_.timeout_s);

    if (!start()) enter(Stage::killing, 0);
    while (running_ > 0) step();
    for (LinePrefixer& output : outputs_) {
        output.pump();
        output.finish();
    }
    // (A process with a host's output would keep the connection to it open.)
    if ((status_ != 0 || options_.share) && cluster_ == nullptr) kill_orphans();
    for (const LinePrefixer& output : outputs_) {
        if (output.write_error() == 0) continue;
        std::fprintf(stderr, "weft run: output is lost: %s\n", std::strerror(output.write_error()));
        return status_ != 0 ? status_ : 1;
    }
    return status_;
}

bool Job::start() {
    Spawner spawner(options_, cluster_, outer_mask_);
    for (int rank = 0; rank < options_.ranks; ++rank) {
        Spawned spawned = spawner.start(rank);
        if (spawned.pid <= 0) {
            std::fprintf(stderr, "weft run: cannot start %s: %s\n",
                         who(static_cast<std::size_t>(rank)).c_str(), std::strerror(spawned.error));
            status_ = 1;
            return false;
        }
        pids_.push_back(spawned.pid);
        ++running_;
        cards_.add(spawned.startup_fd);
        if (spawned.in_fd >= 0) {
            const std::string& input = options_.clients[static_cast<std::size_t>(rank)].input;
            inputs_.emplace_back(spawned.in_fd);
            // (If it fails, the client has ended.)
            (void)::send(inputs_.back().get(), input.data(), input.size(), MSG_NOSIGNAL);
        }
        if (options_.prefix) {
            std::string label = "[" + std::to_string(first_rank() + rank) + "] ";
            outputs_.emplace_back(spawned.out_fd, STDOUT_FILENO, label);
            outputs_.emplace_back(spawned.err_fd, STDERR_FILENO, label);
        }
    }
    watches_input_ = options_.share.has_value();
    const std::vector<std::string>& command =
        options_.clients.empty() ? options_.command : options_.clients.front().command;
    if (ExecFailure failure = spawner.exec_failure(); failure.error != 0) {
        std::fprintf(stderr, "weft run: cannot %s %s: %s\n", failure.what, command[0].c_str(),
                     std::strerror(failure.error));
        status_ = failure.error == ENOENT ? 127 : 126;
        return false;
    }
    return true;
}

void Job::step() {
    const std::size_t ranks = pids_.size();
    std::vector<pollfd> entries{{signal_fd_, POLLIN, 0}};
    for (std::size_t rank = 0; rank < ranks; ++rank) entries.push_back(cards_.interest(rank));
    for (const LinePrefixer& output : outputs_) entries.push_back({output.fd(), POLLIN, 0});
    entries.push_back({watches_input_ ? STDIN_FILENO : -1, POLLIN, 0});

    int timeout_ms = -1;
    if (deadline_ns_ >= 0) {
        std::int64_t left_ns = std::max<std::int64_t>(0, deadline_ns_ - now_ns());
        timeout_ms = static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 1'000'000));
    }
    if (::poll(entries.data(), entries.size(), timeout_ms) > 0) {
        if (entries.back().revents != 0) on_input();
        // Output before signals: what a rank wrote is shown before the message that it ended.
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            if (entries[1 + ranks + i].revents != 0) outputs_[i].pump();
        }
        // Before the sockets, which do not tell which rank ended first. A signal may have come
        // since poll() returned.
        on_signal();
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            if (short events = entries[1 + rank].revents; events != 0) {
                cards_.on_ready(rank, events);
            }
        }
    }
    if (deadline_ns_ >= 0 && now_ns() >= deadline_ns_) on_deadline();
}

void Job::on_signal() {
    signalfd_siginfo info;
    while (::read(signal_fd_, &info, sizeof info) == sizeof info) {
        int signal = static_cast<int>(info.ssi_signo);
        // If several have ended, the signal names the first one.
        if (signal == SIGCHLD) {
            reap(static_cast<pid_t>(info.ssi_pid));
            continue;
        }
        // A signal from the terminal has already reached the ranks: they are in its foreground
        // group too.
        if (info.ssi_code != SI_KERNEL) signal_all(signal);
        if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);
    }
    reap(-1);
}

// What the launcher has to say while the job runs: signals. When the input ends, the launcher or
// the connection to it has ended: so does this share of the job.
void Job::on_input() {
    char said[256];
    const ssize_t n = ::read(STDIN_FILENO, said, sizeof said);
    for (ssize_t i = 0; i < n; ++i) {
        for (const SignalOverInput& signal : signals_over_input) {
            if (said[i] == signal.character) signal_all(signal.number);
        }
    }
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) return;
    watches_input_ = false;
    if (stage_ >= Stage::terminating) return;
    if (status_ == 0) status_ = 128 + SIGHUP;
    end_all();
}

void Job::reap(pid_t which) {
    int wait_status = 0;
    for (pid_t pid; (pid = ::waitpid(which, &wait_status, WNOHANG)) > 0;) {
        auto entry = std::find(pids_.begin(), pids_.end(), pid);
        if (entry == pids_.end()) continue;  // left behind by a rank
        *entry = 0;
        --running_;
        on_exit(static_cast<std::size_t>(entry - pids_.begin()), wait_status);
    }
}

void Job::on_exit(std::size_t rank, int wait_status) {
    if (options_.prefix) {
        outputs_[2 * rank].pump();
        outputs_[2 * rank + 1].pump();
    }
    cards_.rank_ended(rank);
    bool is_killed = WIFSIGNALED(wait_status);
    int number = is_killed ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (number == 0 || stage_ >= Stage::terminating) return;
    if (is_killed) {
        const char* name = ::sigabbrev_np(number);
        std::fprintf(stderr, "weft run: %s killed by signal %d (%s%s)%s\n", who(rank).c_str(),
                     number, name != nullptr ? "SIG" : "real-time signal",
                     name != nullptr ? name : "", WCOREDUMP(wait_status) ? ", core dumped" : "");
    } else {
        std::fprintf(stderr, "weft run: %s exited with status %d\n", who(rank).c_str(), number);
    }
    if (stage_ != Stage::running) return;
    status_ = is_killed ? 128 + number : number;
    enter(Stage::grace, options_.grace_s);
}

void Job::on_deadline() {
    if (stage_ == Stage::running) {
        std::fprintf(stderr, "weft run: the job still runs after %g s (--timeout): ending it\n",
                     options_.timeout_s);
        status_ = status_of_timeout;
    }
    if (stage_ == Stage::grace && running_ > 0) {
        std::fprintf(stderr, "weft run: ending the other ranks (%zu still running)\n", running_);
    }
    if (stage_ < Stage::terminating) {
        end_all();
    } else {
        signal_all(SIGKILL);
        enter(Stage::killing, kill_after_s);
    }
}

void Job::end_all() {
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a stopped process does not see SIGTERM
    enter(Stage::terminating, kill_after_s);
}

void Job::enter(Stage stage, double seconds) {
    stage_ = stage;
    deadline_ns_ = in_seconds(seconds);
}

void Job::signal_all(int signal) {
    for (const SignalOverInput& other : signals_over_input) {
        if (options_.clients.empty() || other.number != signal) continue;
        for (const Fd& input : inputs_)
            (void)::send(input.get(), &other.character, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    for (pid_t pid : pids_) {
        if (pid > 0) ::kill(pid, signal);
    }
}

std::string Job::who(std::size_t rank) const {
    if (!options_.clients.empty()) return options_.clients[rank].name;
    return options_.exec_per_node ? options_.command[0]
                                  : "rank " + std::to_string(first_rank() + static_cast<int>(rank));
}

// After a failure no process of the job may remain, and on another host never: a rank may have been
// a script whose program goes on. (A cluster's guard does this for its nodes.)
void Job::kill_orphans() {
    std::string list = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
    for (int round = 0; round < 100; ++round) {
        std::ifstream children(list);
        std::vector<pid_t> found;
        for (pid_t pid; children >> pid;) found.push_back(pid);
        if (found.empty()) return;
        for (pid_t pid : found) ::kill(pid, SIGKILL);
        for (pid_t pid : found) ::waitpid(pid, nullptr, 0);
    }
}

// Where the bench, which runs this program, wants the report; no matter of the ranks.
std::string take_report_path() {
    const char* const path = std::getenv("WEFT_SWITCH_REPORT");
    std::string taken = path != nullptr ? path : "";
    ::unsetenv("WEFT_SWITCH_REPORT");
    return taken;
}

void report(const SwitchReport& report, const std::string& path) {
    std::fputs(report_text(report).c_str(), stderr);
    if (path.empty()) return;
    std::ofstream file(path, std::ios::app);
    file << report_json(report) << std::flush;
    if (!file) {
        std::fprintf(stderr, "weft run: cannot write WEFT_SWITCH_REPORT = '%s'\n", path.c_str());
    }
}

}  // namespace

int run_job(const RunOptions& options) {
    JobKey key{};
    if (!random_bytes(key).is_ok()) {
        std::fprintf(stderr, "weft run: %s\n", last_detail());
        return 1;
    }
    const std::string report_path = take_report_path();
    if (options.cluster.nodes == 0) return Job(options, nullptr, key).run();
    Result<std::unique_ptr<Cluster>> cluster = Cluster::build(options.cluster);
    Status status = cluster.status();
    if (status.is_ok() && options.exec_per_node)
        status = (*cluster)->offer(cores_of_nodes(options));
    if (!status.is_ok()) {
        std::fprintf(stderr, "weft run: %s\n", last_detail());
        return status_of_refusal;
    }
    const int job_status = Job(options, cluster->get(), key).run();
    if (!options.cluster.distance) return job_status;
    const SwitchReport links = (*cluster)->end_switch();
    report(links, report_path);
    return job_status == 0 && !links.is_as_asked() ? status_of_refusal : job_status;
}

}  // namespace weft
