// Real processes: what holds of jobs apart from what their collectives give.
#include <gtest/gtest.h>

#include <string>

#include "support/surroundings.h"
#include "tools/process.h"

namespace weft::test {
namespace {

class Jobs : public Everywhere {
  protected:
    static void expect(const std::string& program) {
        expect_success(command(
            {.ranks = 2, .program = "tests/conformance/" + program, .options = "--timeout 90"}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Jobs, Everywhere::all(), Everywhere::name_of);

TEST_P(Jobs, AreNotDisturbedByAForkedChildThatExits) { expect("fork_program"); }
TEST_P(Jobs, KeepTheContractOfPendingOperations) { expect("pending_program"); }
TEST_P(Jobs, KeepTheContractOfRequests) { expect("request_program"); }
TEST_P(Jobs, DoNotGrowWithPersistentRequestsThatComeAndGo) { expect("memory_program"); }
TEST_P(Jobs, TakeNoTimeWhenNothingIsPending) {
    if (engine() == "manual") GTEST_SKIP() << "there is no thread that could";
    expect("quiet_program");
}

TEST(JobsThatDiffer, AreRefusedWithTheRankAndTheSetting) {
    const std::string build = WEFT_BUILD_DIR;
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

}  // namespace
}  // namespace weft::test
