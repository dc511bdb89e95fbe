// A process that is refused a descriptor cannot join a job, is told why, and can try again.
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include "support/limits.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::descriptors_test {

// From now on eventfd() fails with EPERM in this process.
bool refuse_eventfds() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_eventfd2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filter_calls(filter);
}

// In a child, and first: a process joins a job once.
TEST(Descriptors, ARefusalIsToldInTheSystemsWords) {
    const pid_t child = fork();
    if (child == 0) {
        if (!refuse_eventfds()) _exit(2);
        const weft_status status = weft_init();
        const std::string detail = weft_last_detail();
        std::fprintf(stderr, "%s\n", detail.c_str());
        const std::string expected = "no descriptor for an eventfd: Operation not permitted";
        _exit(status == WEFT_REFUSED_MEMORY && detail.starts_with(expected) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(status, 0);
}

TEST(Descriptors, TooFewAreRefused) {
    const int first_free = dup(0);
    close(first_free);
    for (rlim_t more : {0u, 1u}) {
        const DescriptorLimit few(more);
        EXPECT_EQ(weft_init(), WEFT_REFUSED_MEMORY);
        EXPECT_EQ(std::string(weft_last_detail()),
                  "no descriptor for an eventfd: Too many open files (weft_init)");
        EXPECT_EQ(weft_is_initialized(), 0);
    }
    EXPECT_EQ(dup(0), first_free) << "a descriptor was left open";
    EXPECT_EQ(weft_init(), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(weft_barrier(weft_comm_world()), WEFT_OK);
    EXPECT_EQ(weft_finalize(), WEFT_OK);
}

// --- Standard streams that are closed ------------------------------------------------------------

class StandardStreams : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, StandardStreams, Everywhere::all(), Everywhere::name_of);

// Connections are made when they are first used.
TEST_P(StandardStreams, StayClosed) {
    if (where().ucx != nullptr) GTEST_SKIP() << "UCX opens descriptors itself";
    for (const char* when : {"before 7", "after 7"}) {
        expect_success(command(
            {4, std::string("tests/conformance/descriptors_program 2 ") + when, "WEFT_CHECK=1"}));
    }
}

TEST(StandardStreamsInOneJob, StayClosedOneByOne) {
    for (const char* mask : {"1", "2", "4", "5"}) {
        expect_success(surroundings("shm").command(
            {2, std::string("tests/conformance/descriptors_program 2 before ") + mask}));
    }
}

// The calls of the system that make a descriptor. (Members of ours have these names as well: "::" tells them apart.)
constexpr std::string_view makers[] = {
    "socket(",
    "socketpair(",
    "accept(",
    "accept4(",
    "eventfd(",
    "epoll_create1(",
    "timerfd_create(",
    "memfd_create(",
    "signalfd(",
    "pipe2(",
    "mkstemp(",
    "::open(",
    "::openat(",
    "::creat(",
    "::dup(",
    "inotify_init1(",
    "syscall(SYS_pidfd_open",
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void drop_end(std::string_view& text, std::string_view end) {
    if (text.ends_with(end)) text.remove_suffix(end.size());
}

// Whether what follows is given to an Fd: "Fd(...", "Fd name(...".
bool is_owned(std::string_view before) {
    drop_end(before, "::");
    drop_end(before, "static_cast<int>(");
    if (!before.ends_with('(')) return false;
    before.remove_suffix(1);
    if (before.ends_with("Fd")) return true;
    while (!before.empty() && is_of_name(before.back())) before.remove_suffix(1);
    return before.ends_with("Fd ");
}

// Every descriptor is given to an Fd at once, which moves it away from the standard streams.
TEST(StandardStreamsInOneJob, NoFileOfTheLibraryMakesADescriptorWithoutAnOwner) {
    int found = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/src")) {
        const std::string name = file.path().filename();
        if (!name.ends_with(".cpp") && !name.ends_with(".h")) continue;
        const std::string whole = content(file.path());
        std::istringstream text(whole);
        for (std::string line; std::getline(text, line);) {
            const std::string_view code = std::string_view(line).substr(0, line.find("//"));
            for (const std::string_view maker : makers) {
                for (std::size_t at = code.find(maker); at != code.npos;
                     at = code.find(maker, at + 1)) {
                    const std::string_view before = code.substr(0, at);
                    // A longer name, a member, or an Fd's own name.
                    if (!before.empty() && (is_of_name(before.back()) || before.back() == '.' ||
                                            before.back() == '>' || before.ends_with("Fd ")))
                        continue;
                    if (maker == "socketpair(") {  // makes two: "int ends[2]"
                        for (const char* end : {"ends[0]", "ends[1]"})
                            EXPECT_TRUE(
                                is_owned(std::string_view(whole).substr(0, whole.find(end))))
                                << file.path() << ": " << end;
                    } else {
                        EXPECT_TRUE(is_owned(before)) << file.path() << ": " << line;
                    }
                    ++found;
                }
            }
            const std::size_t duplicate = code.find("F_DUPFD");
            if (duplicate == code.npos || name == "fd.cpp") continue;
            EXPECT_TRUE(code.substr(duplicate).starts_with("F_DUPFD_CLOEXEC, Fd::first"))
                << file.path() << ": " << line;
        }
    }
    EXPECT_GT(found, 20);
}

#if WEFT_HAS_TCP
// (AddressSanitizer's search for leaks, at a program's end, would need a descriptor.)
std::string job_under(int limit, int ranks, const std::string& engine, int communicators) {
    return "WEFT_TRANSPORT=tcp WEFT_ENGINE=" + engine +
           " " WEFT_BUILD_DIR "/weft run --timeout 30 -n " + std::to_string(ranks) +
           " sh -c 'ulimit -S -n " + std::to_string(limit) +
           "; export ASAN_OPTIONS=detect_leaks=0; exec " WEFT_BUILD_DIR
           "/tests/conformance/descriptors_program " +
           std::to_string(communicators) + "'";
}

TEST(DescriptorsOverTcp, TooFewForConnectionsAreNamedInTime) {
    std::vector<std::string> jobs;
    for (const char* engine : {"manual", "thread"}) {
        for (const int limit : {10, 12, 14, 16}) jobs.push_back(job_under(limit, 4, engine, 2));
    }
    for (const int limit : {12, 16, 20}) jobs.push_back(job_under(limit, 12, "thread", 2));
    for (const Finished& done : run_at_once(jobs)) {
        SCOPED_TRACE(done.command);
        if (done.status == 0) continue;
        // (A rank that only sees another one leave says that.)
        EXPECT_TRUE(contains(done.err, "descriptor")) << done.status;
    }
}

// Task lists and dedicated connections take only descriptors that shared connections do not need.
TEST(DescriptorsOverTcp, SufficeForAKernelEngineWhereTheyDoForAThread) {
    const bool thread_works = run(job_under(20, 3, "thread", 200)).status == 0;
    ASSERT_TRUE(thread_works);
    for (const char* engine : {"kernel", "auto"}) {
        if (!absence_of(engine).empty()) GTEST_SKIP() << absence_of(engine);
        for (const int limit : {20, 28}) expect_success(job_under(limit, 3, engine, 200));
    }
}
#endif

#if WEFT_HAS_UCX
// UCX aborts a process that lacks descriptors while it connects.
TEST(DescriptorsOverUcx, TooFewAreNoSignal) {
    for (const char* tls : {"tcp", "posix", "all"}) {
        if (const std::string absence = ucx_absence(tls); !absence.empty()) GTEST_SKIP() << absence;
        for (int limit = 18; limit <= (runs_all() ? 40 : 26); limit += runs_all() ? 1 : 2) {
            const Finished done =
                run("WEFT_TRANSPORT=ucx WEFT_TIMEOUT=5 UCX_LOG_LEVEL=fatal UCX_TLS=" +
                    std::string(tls) + " " WEFT_BUILD_DIR "/weft run --timeout 30 -n 2 sh -c " +
                    "'ulimit -S -n " + std::to_string(limit) +
                    "; export ASAN_OPTIONS=detect_leaks=0; exec " WEFT_BUILD_DIR
                    "/tests/conformance/descriptors_program 2'");
            EXPECT_FALSE(contains(done.err, "killed by signal"))
                << tls << ", limit " << limit << ": " << done.err;
        }
    }
}
#endif

}  // namespace weft::test::descriptors_test
