// The C++ interface on real processes: cpp_program.cpp says what must hold.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

class CppRanks : public testing::TestWithParam<std::tuple<int, const char*>> {
  protected:
    void expect(const std::string& name) {
        const auto [ranks, engine] = GetParam();
        const std::string command = build + "/weft run --timeout 60 -n " + std::to_string(ranks) +
                                    " " + build + "/tests/conformance/cpp_program " + engine + " " +
                                    name;
        Process job(command);
        job.finish();
        EXPECT_EQ(job.status, 0) << "repeat with: " << command << "\n" << job.out << job.err;
    }
};
INSTANTIATE_TEST_SUITE_P(RanksAndEngine, CppRanks,
                         testing::Combine(testing::Values(2, 3, 4),
                                          testing::Values("manual", "thread")));

TEST_P(CppRanks, CallEveryCollectiveInEachForm) { expect("collectives"); }
TEST_P(CppRanks, GatherScatterReduceAndExchange) { expect("rooted"); }
TEST_P(CppRanks, MakeCommunicatorsThatFreeThemselves) { expect("communicators"); }
TEST_P(CppRanks, SeeWhatIsPending) { expect("pending"); }
TEST_P(CppRanks, WaitForRequestsThatEnd) { expect("ends"); }
TEST_P(CppRanks, GetAnErrorWhenARankLeaves) { expect("left"); }
TEST_P(CppRanks, AreTerminatedByAFailureThatNobodyAskedFor) { expect("unseen"); }
TEST_P(CppRanks, AreTerminatedWhenTheyLeaveBuffersOfWhatHasTimedOut) { expect("timed_out"); }
TEST_P(CppRanks, GiveEveryBlockOfAPipelineItsResult) { expect("pipeline"); }
TEST_P(CppRanks, ComputeBlocksWhileEarlierOnesTravel) { expect("pipeline_overlaps"); }
TEST_P(CppRanks, LeaveNothingPendingWhenAPipelineThrows) { expect("pipeline_throws"); }
TEST_P(CppRanks, LeaveNothingPendingWhenARankLeavesAPipeline) { expect("pipeline_left"); }
TEST_P(CppRanks, MayKeepWhatOutlivesTheJob) { expect("outlives"); }
TEST_P(CppRanks, AreTerminatedWhenTheyLeaveWithOperationsPending) { expect("outstanding"); }

}  // namespace
}  // namespace weft::test
