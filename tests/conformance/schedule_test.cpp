// The program's own schedules on real processes: schedule_program.cpp says what must hold.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::schedule_test {

class OwnSchedule : public Everywhere {
  protected:
    static void expect(const std::string& name, int ranks_min = 1) {
        for (int ranks : some_of({1, 2, 3, 4, 7})) {
            if (ranks < ranks_min) continue;
            expect_success(
                command({ranks, "tests/conformance/schedule_program " + engine() + " " + name}));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, OwnSchedule, Everywhere::all(), Everywhere::name_of);

TEST_P(OwnSchedule, ShiftsAroundARing) { expect("ring_shift"); }
TEST_P(OwnSchedule, BroadcastsAsTheLibraryDoes) { expect("binomial_bcast"); }
TEST_P(OwnSchedule, ReducesInAPipeline) { expect("pipeline"); }
TEST_P(OwnSchedule, KeepsTheOrderOfOperands) { expect("operand_order"); }
TEST_P(OwnSchedule, CallsTheProgram) { expect("calls"); }
TEST_P(OwnSchedule, MayBeFreedBeforeItsRequests) { expect("lifetimes"); }
TEST_P(OwnSchedule, LeavesNothingBehind) { expect(runs_all() ? "growth" : "growth_in_short"); }
TEST_P(OwnSchedule, IsChecked) { expect("flaws", 2); }
TEST_P(OwnSchedule, ThatDoesNotMatchBreaksItsCommunicator) { expect("mismatch", 2); }

TEST(OwnScheduleExample, RunsWithAnyNumberOfRanks) {
    for (int ranks : {1, 2, 5}) {
        expect_success(surroundings("shm").command({ranks, "examples/example_own_schedule_c"}));
    }
}

}  // namespace weft::test::schedule_test
