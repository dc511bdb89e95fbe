// Real processes over shared memory: what holds of jobs apart from what their collectives give.
#include <gtest/gtest.h>

#include <string>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

TEST(Jobs, AreNotDisturbedByAForkedChildThatExits) {
    Process job(build + "/weft run --timeout 60 -n 2 " + build + "/tests/conformance/fork_program");
    job.finish();
    EXPECT_EQ(job.status, 0) << job.out << job.err;
}

TEST(Jobs, RefuseASettingThatDiffersAndNameTheRank) {
    Process job(build +
                "/weft run --timeout 30 -n 3 sh -c 'if [ $WEFT_RANK = 2 ]; then export "
                "WEFT_ALGORITHM_BCAST=chain; fi; exec " +
                build + "/tests/conformance/comms_program manual all_collectives'");
    job.finish();
    EXPECT_NE(job.status, 0);
    EXPECT_NE(job.err.find("rank 2 has WEFT_ALGORITHM_BCAST='chain', rank 0 has ''"),
              std::string::npos)
        << job.err;
}

TEST(Jobs, KeepTheContractOfPendingOperations) {
    Process job(build + "/weft run --timeout 60 -n 2 " + build +
                "/tests/conformance/pending_program");
    job.finish();
    EXPECT_EQ(job.status, 0) << job.out << job.err;
}

void run_program(const std::string& engine, const std::string& program) {
    Process job("WEFT_ENGINE=" + engine + " " + build + "/weft run --timeout 90 -n 2 " + build +
                "/tests/conformance/" + program);
    job.finish();
    EXPECT_EQ(job.status, 0) << engine << "\n" << job.out << job.err;
}

TEST(Jobs, KeepTheContractOfRequests) {
    for (const char* engine : {"manual", "thread"}) run_program(engine, "request_program");
}

TEST(Jobs, DoNotGrowWithPersistentRequestsThatComeAndGo) {
    run_program("thread", "memory_program");
}

TEST(ProgressThread, TakesNoTimeWhenNothingIsPending) {
    Process job(build + "/weft run --timeout 60 -n 2 " + build +
                "/tests/conformance/quiet_program");
    job.finish();
    EXPECT_EQ(job.status, 0) << job.out << job.err;
}

}  // namespace
}  // namespace weft::test
