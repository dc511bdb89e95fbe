#include "weft/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "weft/background.h"

namespace weft {
namespace {

constexpr int rounds_max =
    500;  // of 10 ms: a process that survives SIGKILL for longer is stuck in the kernel

using Identity = std::pair<dev_t, ino_t>;

Identity identity(const struct stat& file) { return {file.st_dev, file.st_ino}; }

// The processes in one of the networks.
std::vector<pid_t> inhabitants(const std::vector<Identity>& networks) {
    std::vector<pid_t> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; entry != end;
         entry.increment(error)) {
        const pid_t pid = std::atoi(entry->path().filename().c_str());
        struct stat file {};
        if (pid <= 0 || ::stat((entry->path() / "ns/net").c_str(), &file) != 0) continue;
        if (std::find(networks.begin(), networks.end(), identity(file)) != networks.end()) {
            found.push_back(pid);
        }
    }
    return found;
}

[[noreturn]] void keep_guard(int launcher_alive, pid_t launcher, std::vector<int> networks) {
    std::vector<Identity> identities;
    for (int network : networks) {
        struct stat file {};
        if (::fstat(network, &file) == 0) identities.push_back(identity(file));
    }
    // The networks' descriptors stay open, so that no other network gets their identities
    // meanwhile.
    networks.push_back(launcher_alive);
    go_to_background("weft-guard", std::move(networks));

    char byte;
    while (::read(launcher_alive, &byte, 1) < 0 && errno == EINTR) {
    }
    for (int round = 0; round < rounds_max; ++round) {
        bool is_empty = true;
        for (pid_t pid : inhabitants(identities)) {
            if (pid == launcher || pid == ::getpid()) continue;
            is_empty = false;
            ::kill(pid, SIGKILL);
        }
        if (is_empty) break;
        ::usleep(10'000);
    }
    ::_exit(0);
}

}  // namespace

Status Guard::start(const std::vector<int>& networks) {
    int ends[2] = {-1, -1};
    const pid_t launcher = ::getpid();
    if (::pipe2(ends, O_CLOEXEC) == 0) pid_ = ::fork();
    if (pid_ == 0) keep_guard(ends[0], launcher, networks);
    const int error = errno;
    if (ends[0] >= 0) ::close(ends[0]);
    alive_ = ends[1];
    if (pid_ > 0) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "cannot start the guard of the nodes: %s",
                   std::strerror(error));
}

void Guard::sweep() {
    if (alive_ >= 0) ::close(std::exchange(alive_, -1));
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

}  // namespace weft
