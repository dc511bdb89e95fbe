#include "weft/iproute.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace weft {
namespace {

constexpr int cannot_run = 127;

// An unnamed file; -1 and errno on failure.
int scratch_file(const std::string& text) {
    const int fd = ::memfd_create("weft", MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::lseek(fd, 0, SEEK_SET) == 0) {
        return fd;
    }
    ::close(fd);
    return -1;
}

std::string text_of(int fd) {
    char buffer[4096];
    const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

[[noreturn]] void become(const char* program, int in, int err, int network,
                         const std::vector<int>& lent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(in, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    for (int fd : lent) ::fcntl(fd, F_SETFD, 0);
    if (network < 0 || ::setns(network, CLONE_NEWNET) == 0) {
        // Directories that a user's PATH may lack.
        const char* path = ::getenv("PATH");
        ::setenv("PATH", ((path != nullptr ? path : "") + std::string(":/usr/sbin:/sbin")).c_str(),
                 1);
        ::execlp(program, program, "-batch", "-", nullptr);
    }
    const std::string reason = std::strerror(errno);
    [[maybe_unused]] ssize_t written = ::write(err, reason.data(), reason.size());
    ::_exit(cannot_run);
}

// The kernel module that a command needs, besides network namespaces.
const char* module_of(const std::string& command) {
    for (const char* kind : {"bridge", "veth", "tbf"}) {
        if ((command + ' ').find(std::string(" ") + kind + ' ') != command.npos) return kind;
    }
    return nullptr;
}

// The command that failed: "Command failed -:3" is the third.
std::string failed_command(const std::string& words, const std::vector<std::string>& commands) {
    constexpr std::string_view mark = "Command failed -:";
    const std::size_t at = words.find(mark);
    if (at == words.npos) return commands.front();
    const int line = std::atoi(words.c_str() + at + mark.size());
    const bool is_line = line >= 1 && static_cast<std::size_t>(line) <= commands.size();
    return commands[is_line ? static_cast<std::size_t>(line) - 1 : 0];
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Status refusal(const char* program, int wait_status, const std::string& words,
               const std::vector<std::string>& commands) {
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == cannot_run) {
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "--nodes needs the program %s (package iproute2), which cannot be run: %s",
                       program, words.c_str());
    }
    const std::string command = failed_command(words, commands);
    const std::string reason =
        WIFSIGNALED(wait_status) ? ::strsignal(WTERMSIG(wait_status)) : first_line(words);
    const char* module = module_of(command);
    return failure(WEFT_REFUSED_UNSUPPORTED, "cannot make the network of --nodes: %s %s: %s%s%s",
                   program, command.c_str(), reason.c_str(),
                   module != nullptr ? "; the kernel may lack " : "",
                   module != nullptr ? module : "");
}

}  // namespace

Status iproute(const char* program, const std::vector<std::string>& commands, int network,
               const std::vector<int>& lent) {
    std::string input;
    for (const std::string& command : commands) input += command + '\n';
    const int in = scratch_file(input);
    const int err = scratch_file("");
    const pid_t child = in < 0 || err < 0 ? -1 : ::fork();
    if (child == 0) become(program, in, err, network, lent);
    int wait_status = 0;
    while (child > 0 && ::waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
    const int error = errno;
    const std::string words = err < 0 ? "" : text_of(err);
    for (int fd : {in, err}) {
        if (fd >= 0) ::close(fd);
    }
    if (child < 0) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot start %s: %s", program,
                       std::strerror(error));
    }
    return wait_status == 0 ? ok : refusal(program, wait_status, words, commands);
}

}  // namespace weft
