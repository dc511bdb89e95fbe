// Re-executing this program under `weft run`.
#include "bench/launch.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::bench {
namespace {

std::string this_program() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "weft";
}

[[noreturn]] void become(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // nothing runs on when this program is killed
    execv("/proc/self/exe", argv.data());
    std::fprintf(stderr, "weft bench: cannot start weft run: %s\n", std::strerror(errno));
    _exit(127);
}

}  // namespace

bool is_rank() { return std::getenv("WEFT_RANK") != nullptr; }

int launch(const Launch& job) {
    const std::string self = this_program();
    std::vector<std::string> words = {self,     "run",    "-n", std::to_string(job.ranks),
                                      "--bind", job.bind, self};
    words.insert(words.end(), job.arguments.begin(), job.arguments.end());
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        std::fprintf(stderr, "weft bench: fork: %s\n", std::strerror(errno));
        return 1;
    }
    if (child == 0) become(std::move(words));
    // Ctrl-C reaches the job as well: it ends, and this program then ends with its status.
    const auto old_handler = signal(SIGINT, SIG_IGN);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    signal(SIGINT, old_handler);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int usable_cores() {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
    return CPU_COUNT(&mask);
}

}  // namespace weft::bench
