#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::test {

ChildProcess::ChildProcess(const std::string& command) {
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

ChildProcess::~ChildProcess() {
    if (pid_ > 0) {
        kill(-pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    close(out_[0]);
    close(err_[0]);
}

void ChildProcess::finish(std::int64_t limit_ns) {
    std::int64_t deadline_ns = now_ns() + limit_ns;
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

static Finished finished(ChildProcess& process, const std::string& command,
                         std::int64_t limit_ns = hang_ns) {
    process.finish(limit_ns);
    return {process.status, process.out, process.err, command};
}

Finished run(const std::string& command, std::int64_t limit_ns) {
    ChildProcess process(command);
    return finished(process, command, limit_ns);
}

std::vector<Finished> run_at_once(const std::vector<std::string>& commands) {
    std::deque<ChildProcess> processes;
    for (const std::string& command : commands) processes.emplace_back(command);
    std::vector<Finished> all;
    for (std::size_t i = 0; i < commands.size(); ++i)
        all.push_back(finished(processes[i], commands[i]));
    return all;
}

Finished expect_refusal(const Finished& command, int status, const std::string& sentence,
                        Where where) {
    if (command.status != status || command.err.find(sentence) == sentence.npos) {
        ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
            << command.command << "\nexpected status " << status << " and '" << sentence
            << "', but ended with " << command.status << ":\n"
            << command.out << command.err;
    }
    return command;
}

Finished expect_success(const Finished& command, Where where) {
    return expect_refusal(command, 0, "", where);
}

void expect_success(const std::vector<Finished>& commands, Where where) {
    for (const Finished& command : commands) expect_success(command, where);
}

Finished expect_success(const std::string& command, Where where) {
    return expect_success(run(command), where);
}

Finished expect_refusal(const std::string& command, int status, const std::string& sentence,
                        Where where) {
    return expect_refusal(run(command), status, sentence, where);
}

Finished expect_failure(const Finished& command, const std::string& sentence, Where where) {
    if (command.status != 0) return expect_refusal(command, command.status, sentence, where);
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
        << command.command << "\nexpected to fail with '" << sentence << "'\n"
        << command.out << command.err;
    return command;
}

Finished expect_failure(const std::string& command, const std::string& sentence, Where where) {
    return expect_failure(run(command), sentence, where);
}

::testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess() << text;
    return ::testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

Lines sorted_lines(const std::string& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

Folder::Folder() {
    char pattern[] = "/tmp/weft-test-XXXXXX";
    path_ = mkdtemp(pattern);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::size_t Folder::files() const {
    auto begin = std::filesystem::directory_iterator(path_);
    return static_cast<std::size_t>(std::distance(begin, {}));
}

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

pid_t pid_in(const std::string& path) {
    std::string text = content(path);
    return text.empty() ? -1 : std::stoi(text);
}

}  // namespace weft::test
