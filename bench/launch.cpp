// Runs this program again under `weft run`.
#include "bench/launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "bench/player/mpi.h"

namespace weft::bench {
namespace {

[[noreturn]] void become(const char* program, std::vector<std::string> words,
                         std::vector<std::string> settings) {
    for (std::string& setting : settings) putenv(setting.data());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the job ends if this program is killed
    execv(program, argv.data());
    std::fprintf(stderr, "weft bench: cannot start %s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
}

// The job that finish() waits for.
volatile std::sig_atomic_t running_job = 0;
volatile std::sig_atomic_t ended_by = 0;  // the signal

// Passes the signal on to the job; this program ends after the job, and removes what it has made.
void end_job(int number, siginfo_t* info, void*) {
    ended_by = number;
    // A signal from the terminal has already reached it.
    if (info->si_code != SI_KERNEL) kill(running_job, number);
}

// Waits for it. Returns its exit status.
int finish(const char* program, std::vector<std::string> words,
           const std::vector<std::string>& settings) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        std::fprintf(stderr, "weft bench: fork: %s\n", std::strerror(errno));
        return 1;
    }
    if (child == 0) become(program, std::move(words), settings);
    running_job = child;
    constexpr int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old_actions[std::size(ends)];
    struct sigaction action {};
    action.sa_sigaction = end_job;
    action.sa_flags = SA_SIGINFO;
    for (std::size_t i = 0; i < std::size(ends); ++i) sigaction(ends[i], &action, &old_actions[i]);
    // The process is kept as a zombie, so that its number stays valid, until no handler can name
    // it.
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    for (std::size_t i = 0; i < std::size(ends); ++i) sigaction(ends[i], &old_actions[i], nullptr);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr const char* self = "/proc/self/exe";

}  // namespace

std::string this_program() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = readlink(self, path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "weft";
}

bool is_rank() {
    return std::getenv("WEFT_RANK") != nullptr || std::getenv(mpi_name_setting) != nullptr;
}

int run_program(std::vector<std::string> words, const std::vector<std::string>& settings) {
    return finish(self, std::move(words), settings);
}

int interrupted() { return ended_by; }

int run_shell(const std::string& command) { return finish("/bin/sh", {"sh", "-c", command}, {}); }

}  // namespace weft::bench
