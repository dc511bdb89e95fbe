// The program's own schedules on real processes: schedule_program.cpp says what must hold.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

void run_job(int ranks, const std::string& program) {
    std::string command =
        build + "/weft run --timeout 60 -n " + std::to_string(ranks) + " " + build + "/" + program;
    Process job(command);
    job.finish();
    EXPECT_EQ(job.status, 0) << "repeat with: " << command << "\n" << job.out << job.err;
}

class OwnSchedule : public testing::TestWithParam<std::tuple<int, const char*>> {
  protected:
    int ranks() { return std::get<0>(GetParam()); }
    void expect(const std::string& name) {
        run_job(ranks(),
                "tests/conformance/schedule_program " + (std::get<1>(GetParam()) + (" " + name)));
    }
};
INSTANTIATE_TEST_SUITE_P(RanksAndEngine, OwnSchedule,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7),
                                          testing::Values("manual", "thread")));

TEST_P(OwnSchedule, ShiftsAroundARing) { expect("ring_shift"); }
TEST_P(OwnSchedule, BroadcastsAsTheLibraryDoes) { expect("binomial_bcast"); }
TEST_P(OwnSchedule, ReducesInAPipeline) { expect("pipeline"); }
TEST_P(OwnSchedule, KeepsTheOrderOfOperands) { expect("operand_order"); }
TEST_P(OwnSchedule, CallsTheProgram) { expect("calls"); }
TEST_P(OwnSchedule, MayBeFreedBeforeItsRequests) { expect("lifetimes"); }
TEST_P(OwnSchedule, LeavesNothingBehind) { expect("growth"); }
TEST_P(OwnSchedule, IsChecked) {
    if (ranks() > 1) expect("flaws");
}
TEST_P(OwnSchedule, ThatDoesNotMatchBreaksItsCommunicator) {
    if (ranks() > 1) expect("mismatch");
}

TEST(OwnScheduleExample, RunsWithAnyNumberOfRanks) {
    for (int ranks : {1, 2, 5}) run_job(ranks, "examples/example_own_schedule_c");
}

}  // namespace
}  // namespace weft::test
