// Runs a shell command with its output captured, bounded in time so that a hang is a failure; and helpers for its
// tests: files, directories, other processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <source_location>
#include <string>
#include <vector>

#include "base/clock.h"

namespace weft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_slowdown = 5;
#else
inline constexpr int sanitizer_slowdown = 1;
#endif
// Normally nothing takes a tenth of this.
inline constexpr std::int64_t hang_ns = sanitizer_slowdown * 60'000'000'000;

// A child running `sh -c command` in a process group of its own; the group is killed when the object is destroyed.
class ChildProcess {
  public:
    explicit ChildProcess(const std::string& command);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }

    // Reads both outputs to their end; then status, out and err are set. A command that takes longer hangs.
    void finish(std::int64_t limit_ns = hang_ns);

    int status = -1;  // as a shell reports it
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
    std::string command = {};
};

Finished run(const std::string& command, std::int64_t limit_ns = hang_ns);

// Runs them at the same time: for jobs that mostly sleep.
std::vector<Finished> run_at_once(const std::vector<std::string>& commands);

// How a command must end, which may still have to run; the error says the command, to repeat it.
using Where = std::source_location;
Finished expect_success(const Finished& command, Where where = Where::current());
Finished expect_success(const std::string& command, Where where = Where::current());
void expect_success(const std::vector<Finished>& commands, Where where = Where::current());
Finished expect_refusal(const Finished& command, int status, const std::string& sentence,
                        Where where = Where::current());
Finished expect_refusal(const std::string& command, int status, const std::string& sentence,
                        Where where = Where::current());
// With any status but 0.
Finished expect_failure(const Finished& command, const std::string& sentence,
                        Where where = Where::current());
Finished expect_failure(const std::string& command, const std::string& sentence,
                        Where where = Where::current());

::testing::AssertionResult contains(const std::string& text, const std::string& part);

using Lines = std::vector<std::string>;

// The lines of a text, sorted: ranks write in any order.
Lines sorted_lines(const std::string& text);

// Polls a condition; false when it does not come true before this would count as a hang.
template <class Condition>
bool becomes_true(Condition condition) {
    for (std::int64_t deadline_ns = now_ns() + hang_ns; now_ns() < deadline_ns; usleep(10'000)) {
        if (condition()) return true;
    }
    return false;
}

// An empty directory for the test, removed afterwards.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    std::size_t files() const;

  private:
    std::string path_;
};

std::string content(const std::string& path);

// Also true while the process is an unreaped zombie.
inline bool is_alive(pid_t pid) { return kill(pid, 0) == 0; }

pid_t pid_in(const std::string& path);

}  // namespace weft::test
