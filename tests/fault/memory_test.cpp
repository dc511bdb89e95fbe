// Ranks run out of memory at every kind of place: all calls of all ranks end soon, well or with a status
// that says so, and what does not depend on it goes on.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::memory_test {

class OutOfMemory : public Everywhere {
  protected:
    // Runs the program, which ChildProcess gives 60 seconds; returns how many allocations failed.
    long failed(const std::string& arguments, const std::string& settings = "") {
        const std::string command =
            Everywhere::command({.ranks = 3,
                                 .program = "tests/fault/memory_program " + arguments,
                                 .settings = "WEFT_TIMEOUT=5 " + settings,
                                 .options = "--timeout 100"});
        const Finished job = expect_success(command);
        return std::atol(job.out.c_str());
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, OutOfMemory, Everywhere::all(), Everywhere::name_of);

TEST_P(OutOfMemory, OncePerCallStackEndsEveryCallSoon) { EXPECT_GE(failed("stacks 4"), 1); }

TEST_P(OutOfMemory, AtEveryAllocationEndsEveryCallSoon) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    const long failures = failed("each 40");
    RecordProperty("allocations_failed", std::to_string(failures));
    std::printf("%ld allocations failed\n", failures);
    EXPECT_GE(failures, 1000);
}

TEST_P(OutOfMemory, InBurstsEndsEveryCallSoon) {
    EXPECT_GE(failed(runs_all() ? "burst 40" : "burst 2"), 1);
}

// Where a job is new, and its pools are empty.
TEST_P(OutOfMemory, InAFirstUseEndsEveryCallSoon) {
    const int step = runs_all() ? 1 : 97;
    for (int n = 1; n <= 600; n += step) {
        if (failed("cold 10 " + std::to_string(n)) == 0) break;
        ASSERT_FALSE(HasFailure());
    }
}

// Task lists go to io_uring in many batches, which wait for one another.
class OutOfMemoryInATinyQueue : public OutOfMemory {};
INSTANTIATE_TEST_SUITE_P(Jobs, OutOfMemoryInATinyQueue, testing::ValuesIn(driven_by({"kernel"})),
                         Everywhere::name_of);

TEST_P(OutOfMemoryInATinyQueue, OncePerCallStackEndsEveryCallSoon) {
    if (!runs_all() && where().has_nodes) GTEST_SKIP() << "only in a run of all tests";
    EXPECT_GE(failed(runs_all() ? "stacks 20" : "stacks 1", "WEFT_RESOURCES=queue_depth=8"), 1);
}

}  // namespace weft::test::memory_test
