// Startup under MPICH's launcher Hydra, or another that speaks version 1 of the PMI wire protocol:
// lines of words "key=value" over the socket PMI_FD, each answered by one line. Intel MPI's mpiexec
// and Slurm's `--mpi=pmi2` speak it, too.
#include "startup/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/fd.h"
#include "startup/key_value.h"

namespace weft {
namespace {

constexpr std::size_t answer_bytes_max = 64 * 1024;

Status launcher_gone() {
    return failure(WEFT_REFUSED_STATE,
                   "the launcher (PMI_FD) hung up before all ranks had started");
}

// "key=value" among the words of a line.
std::optional<std::string_view> word(std::string_view line, std::string_view key) {
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::string_view one = line.substr(0, end);
        if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == '=') {
            return one.substr(key.size() + 1);
        }
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return std::nullopt;
}

// A process that has sent cmd=init must send cmd=finalize, or counts as crashed (Intel). It may do
// so only once, as the last command. An MPI in this process sends both too, the latter perhaps only
// in an atexit() handler (MPICH). So ours is sent after that; the socket may then be closed.
int leave_fd = -1;    // our own: the MPI closes PMI_FD
pid_t leave_pid = 0;  // a forked child does not send it for its parent

__attribute__((destructor)) void take_leave() {
    if (leave_fd < 0 || ::getpid() != leave_pid) return;
    constexpr std::string_view line = "cmd=finalize\n";
    if (::send(leave_fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
    // Hydra ends the job if it cannot send its answer.
    pollfd entry{leave_fd, POLLIN, 0};
    ::poll(&entry, 1, 1000);
}

class Pmi final : public KeyValueStartup {
  public:
    Pmi(Rank rank, Rank ranks, int fd, std::int64_t timeout_ns)
        : KeyValueStartup(rank, ranks, timeout_ns, value_bytes), fd_(fd) {}

  private:
    // All launchers seen so far take 1023 bytes in a value and 1024 in a line.
    static constexpr std::size_t value_bytes = 768;

    Status put(const std::string& key, const std::string& value) override {
        WEFT_RETURN_IF_NOT_OK(greet());
        return ask("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value, "put_result")
            .status();
    }

    Status fence() override { return ask("cmd=barrier_in", "barrier_out").status(); }

    Result<std::string> get(Rank, const std::string& key) override {
        Result<std::string> said = ask("cmd=get kvsname=" + space_ + " key=" + key, "get_result");
        if (!said.is_ok()) return said;
        return std::string(word(*said, "value").value_or(""));
    }

    Status greet() {
        if (!space_.empty()) return ok;
        Result<std::string> greeting =
            ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
        if (!greeting.is_ok()) return greeting.status();
        if (leave_fd < 0) {
            leave_fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, Fd::first);
            leave_pid = ::getpid();
        }
        Result<std::string> named = ask("cmd=get_my_kvsname", "my_kvsname");
        if (!named.is_ok()) return named.status();
        space_ = word(*named, "kvsname").value_or("");
        if (!space_.empty()) return ok;
        return failure(WEFT_REFUSED_STATE, "the launcher (PMI_FD) gave the job's values no name");
    }

    // The launcher's answer; refused unless it is `answer` and reports success.
    Result<std::string> ask(const std::string& command, std::string_view answer) {
        const std::string line = command + "\n";
        for (std::string_view left = line; !left.empty();) {
            const ssize_t sent = ::send(fd_, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent >= 0) {
                left.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno == EAGAIN) {
                WEFT_RETURN_IF_NOT_OK(wait_for_launcher(fd_, POLLOUT, deadline()));
            } else if (errno != EINTR) {
                return launcher_gone();
            }
        }
        while (heard_.find('\n') == std::string::npos) {
            char bytes[4096];
            WEFT_RETURN_IF_NOT_OK(wait_for_launcher(fd_, POLLIN, deadline()));
            const ssize_t heard = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (heard > 0 && heard_.size() < answer_bytes_max) {
                heard_.append(bytes, static_cast<std::size_t>(heard));
            } else if (heard >= 0 || (errno != EAGAIN && errno != EINTR)) {
                return launcher_gone();
            }
        }
        const std::size_t end = heard_.find('\n');
        std::string said = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        const std::string_view verb = std::string_view(command).substr(0, command.find(' '));
        if (word(said, "cmd") != answer || word(said, "rc").value_or("0") != "0") {
            return failure(
                WEFT_REFUSED_STATE,
                "the launcher answered '%.*s' on PMI_FD by '%.100s'; expected 'cmd=%.*s' of "
                "PMI version 1",
                static_cast<int>(verb.size()), verb.data(), said.c_str(),
                static_cast<int>(answer.size()), answer.data());
        }
        return said;
    }

    int fd_;
    std::string space_;  // the name of the job's key-value space
    std::string heard_;  // bytes after the last answer
};

}  // namespace

std::unique_ptr<Startup> startup_by_pmi(const JobRank& place, int fd) {
    return std::make_unique<Pmi>(place.rank, place.ranks, fd, place.timeout_ns);
}

}  // namespace weft
