// A rank runs out of descriptors after its start: every call of all ranks ends soon, well or with a
// status that says so.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::descriptors_test {

class OutOfDescriptors : public Everywhere {
  protected:
    // Calls fail over tcp alone with `short_engine`: that is the everyday run, if there is one. (It
    // takes 5 s: a rank goes on trying to get a descriptor.)
    static void expect_an_end(const std::string& when, const std::string& short_engine) {
        if (where().ucx != nullptr)
            GTEST_SKIP() << "without descriptors UCX ends the process, or tells of a lost peer";
        const bool is_short = std::string(where().name) == "tcp" && engine() == short_engine;
        if (!runs_all() && !is_short) GTEST_SKIP() << "only in a run of all tests";
        for (int left : {0, 1, 2, 3, 4, 6, 9, 12}) {
            const std::string command = Everywhere::command(
                {.ranks = 3,
                 .program = "tests/fault/descriptors_program " + when + " " + std::to_string(left),
                 // AddressSanitizer's search for leaks would need a descriptor.
                 .settings = "WEFT_TIMEOUT=20 ASAN_OPTIONS=detect_leaks=0"});
            const Finished job = expect_success(command);
            if (left == 0 && is_short) {
                EXPECT_GE(std::atol(job.out.c_str()), 1);
            }
            if (!runs_all() || HasFailure()) break;
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, OutOfDescriptors, Everywhere::all(), Everywhere::name_of);

TEST_P(OutOfDescriptors, BeforeRanksAreConnectedEndsEveryCallSoon) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect_an_end("first", "thread");
}

// (Each of them sees the others give up at another moment.)
TEST(StartWithFewDescriptors, IsRefusedWithTheReason) {
    for (int most = 12; most <= 16; ++most) {
        for (const int ranks : {2, 3}) {
            const Finished job =
                run("ulimit -n " + std::to_string(most) +
                    "; WEFT_TRANSPORT=shm ASAN_OPTIONS=detect_leaks=0 " WEFT_BUILD_DIR
                    "/weft run --timeout 60 -n " +
                    std::to_string(ranks) +
                    " " WEFT_BUILD_DIR "/tests/conformance/descriptors_program");
            SCOPED_TRACE(job.err);
            EXPECT_NE(job.status, 0);
            EXPECT_TRUE(contains(job.err, "Too many open files"));
            EXPECT_EQ(job.err.find("Connection refused"), std::string::npos);
        }
    }
}

TEST_P(OutOfDescriptors, ForANewCommunicatorEndsItAndNoOther) { expect_an_end("later", "kernel"); }

}  // namespace weft::test::descriptors_test
