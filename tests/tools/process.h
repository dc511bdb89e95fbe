// Runs a shell command with its output captured, bounded in time so that a hang is a failure.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"

namespace weft::test {

inline constexpr std::int64_t hang_ns = 60'000'000'000;  // nothing here takes a tenth of it

// A child running `sh -c command` in a process group of its own; killed with it when forgotten.
class Process {
  public:
    explicit Process(const std::string& command) {
        EXPECT_EQ(pipe2(out_, O_CLOEXEC), 0);
        EXPECT_EQ(pipe2(err_, O_CLOEXEC), 0);
        pid_ = fork();
        if (pid_ == 0) {
            setpgid(0, 0);
            dup2(out_[1], STDOUT_FILENO);
            dup2(err_[1], STDERR_FILENO);
            execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            _exit(127);
        }
        close(out_[1]);
        close(err_[1]);
    }

    ~Process() {
        if (pid_ > 0) {
            kill(-pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(out_[0]);
        close(err_[0]);
    }

    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }

    // Reads both outputs to their end; then status, out and err are set.
    void finish() {
        std::int64_t deadline_ns = now_ns() + hang_ns;
        pollfd entries[2] = {{out_[0], POLLIN, 0}, {err_[0], POLLIN, 0}};
        std::string* texts[2] = {&out, &err};
        while (entries[0].fd >= 0 || entries[1].fd >= 0) {
            if (now_ns() > deadline_ns) {
                ADD_FAILURE() << "the command hangs; so far:\n" << out << err;
                kill(-pid_, SIGKILL);
                break;
            }
            poll(entries, 2, 100);
            for (int i = 0; i < 2; ++i) {
                if (entries[i].revents == 0) continue;
                char buffer[4096];
                ssize_t got = read(entries[i].fd, buffer, sizeof buffer);
                if (got > 0) texts[i]->append(buffer, static_cast<std::size_t>(got));
                if (got <= 0) entries[i].fd = -1;
            }
        }
        int wait_status = 0;
        waitpid(pid_, &wait_status, 0);
        pid_ = -1;
        status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    }

    int status = -1;  // as a shell says it
    std::string out;
    std::string err;

  private:
    pid_t pid_ = -1;
    int out_[2] = {-1, -1};
    int err_[2] = {-1, -1};
};

struct Finished {
    int status;
    std::string out;
    std::string err;
};

inline Finished run(const std::string& command) {
    Process process(command);
    process.finish();
    return {process.status, process.out, process.err};
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess() << text;
    return ::testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

using Lines = std::vector<std::string>;

// The lines of a text, sorted: ranks write in any order.
inline Lines sorted_lines(const std::string& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

// Polls a condition; false when it does not come true before this would count as a hang.
template <class Condition>
bool becomes_true(Condition condition) {
    for (std::int64_t deadline_ns = now_ns() + hang_ns; now_ns() < deadline_ns; usleep(10'000)) {
        if (condition()) return true;
    }
    return false;
}

// An empty folder for the test, gone afterwards.
class Folder {
  public:
    Folder() {
        char pattern[] = "/tmp/weft-test-XXXXXX";
        path_ = mkdtemp(pattern);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    std::size_t files() const {
        auto begin = std::filesystem::directory_iterator(path_);
        return static_cast<std::size_t>(std::distance(begin, {}));
    }

  private:
    std::string path_;
};

inline std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// Also true while the process is a zombie that nobody has asked about.
inline bool is_alive(pid_t pid) { return kill(pid, 0) == 0; }

inline pid_t pid_in(const std::string& path) {
    std::string text = content(path);
    return text.empty() ? -1 : std::stoi(text);
}

}  // namespace weft::test
