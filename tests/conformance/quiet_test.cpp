// With nothing pending nothing happens: no system call in two seconds, or five, over connections that are up.
#include "base/cores.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::quiet_test {

// What strace has written of rank `rank` between the program's marks, but for its own sleep.
std::string between_marks(const std::string& trace) {
    std::istringstream lines(trace);
    std::string found;
    bool is_between = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("quiet ends") != std::string::npos) return found;
        if (is_between && line.find("nanosleep") == std::string::npos) found += line + "\n";
        if (line.find("quiet begins") != std::string::npos) is_between = true;
    }
    return "the marks are not there\n";
}

class Quiet : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Quiet, testing::Values("manual", "thread", "kernel"));

TEST_P(Quiet, ProcessMakesNoSystemCallOverTcp) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a thread of ThreadSanitizer calls the system now and then";
#endif
    if (run("strace -o /dev/null true").status != 0)
        GTEST_SKIP() << "strace is not installed, or may not trace here";
    if (const std::string absence = absence_of(GetParam()); !absence.empty())
        GTEST_SKIP() << absence;
    Folder folder;
    // (A sanitizer looks for leaks by means that do not work below a tracer.)
    expect_success("ASAN_OPTIONS=detect_leaks=0 WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo " +
                   settings_of(GetParam()) +
                   " " WEFT_BUILD_DIR "/weft run --timeout 60 -n 2 sh -c 'exec strace -f -o " +
                   (folder / "trace.") +
                   "$WEFT_RANK " WEFT_BUILD_DIR "/tests/conformance/quiet_program " +
                   (runs_all() ? "5'" : "2'"));
    for (const char* rank : {"0", "1"}) {
        const std::string trace = content(folder / (std::string("trace.") + rank));
        EXPECT_TRUE(contains(trace, "AF_INET")) << "it did not use tcp";
        EXPECT_EQ(between_marks(trace), "") << "rank " << rank;
    }
}

#if WEFT_HAS_UCX
// Its keep-alive wakes it now and then.
TEST_P(Quiet, RankThatWaitsSleepsOverUcx) {
    for (const char* name : {"ucx_tcp", "ucx_posix"}) {
        if (!runs_all() && name != std::string("ucx_tcp")) continue;
        const Surroundings& where = surroundings(name);
        for (const std::string& absence : {where.absence(), absence_of(GetParam())}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        expect_success(where.command({.ranks = 2,
                                      .program = "tests/conformance/quiet_program 0 2",
                                      .settings = settings_of(GetParam())}));
    }
}
#endif

// The ranks compute on one core, their threads run on another one.
TEST(ProgressThread, RunsOnTheCoreThatIsSetAside) {
    const std::vector<int> cores = own_cores();
    if (cores.size() < 2) GTEST_SKIP() << "there is only one core";
    const std::string rank = std::to_string(cores.front()), thread = std::to_string(cores.back());
    expect_success("WEFT_ENGINE=thread WEFT_PROGRESS_CPUS=" + thread + " taskset -c " + rank +
                   " " WEFT_BUILD_DIR "/weft run --timeout 60 -n 2 " WEFT_BUILD_DIR
                   "/tests/conformance/quiet_program 1");
}

TEST(ProgressThread, ServesWaitsOfRanksThatShareACore) {
    const std::vector<int> cores = own_cores();
    if (cores.size() < 2) GTEST_SKIP() << "there is only one core";
    const std::string rank = std::to_string(cores.front()), thread = std::to_string(cores.back());
    for (const std::string program :
         {"threads_program thread 5", "comms_program thread interleaved", "pending_program",
          "confined_program", "request_program"}) {
        expect_success("WEFT_ENGINE=thread WEFT_PROGRESS_CPUS=" + thread + " taskset -c " + rank +
                       " " WEFT_BUILD_DIR "/weft run --timeout 60 -n 2 " WEFT_BUILD_DIR
                       "/tests/conformance/" +
                       program);
    }
}

// A core of the ranks is no core set aside, whoever names it.
TEST(ProgressThread, WorksOnDemandOnACoreThatRanksUse) {
    const std::vector<int> cores = own_cores();
    const std::string rank = std::to_string(cores.front()), other = std::to_string(cores.back());
    const auto statistics = [&](const std::string& set_aside) {
        return run("WEFT_STATS=1 WEFT_TRANSPORT=shm WEFT_ENGINE=thread WEFT_PROGRESS_CPUS=" +
                   set_aside + " taskset -c " + rank +
                   " " WEFT_BUILD_DIR "/weft run --timeout 60 -n 2 " WEFT_BUILD_DIR "/weft info")
            .err;
    };
    const std::string shared = statistics(rank);
    EXPECT_TRUE(contains(shared, "engine thread (on demand)")) << shared;
    const std::vector<int> siblings = siblings_of(cores.front());
    if (std::ranges::count(siblings, cores.back())) GTEST_SKIP() << "there is only one core";
    const std::string apart = statistics(other);
    EXPECT_TRUE(contains(apart, "engine thread (eager)")) << apart;
}

}  // namespace weft::test::quiet_test
