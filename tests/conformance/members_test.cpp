// Communicators made from lists of ranks, on real processes: members_program.cpp says what must hold.
#include <csignal>

#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::members_test {

class CommsFromMembers : public Everywhere {
  protected:
    static void expect(const std::string& name, const std::string& settings = "") {
        for (int ranks : where().some_of({1, 3, 4})) expect_of(ranks, name, settings);
    }
    static void expect_of(int ranks, const std::string& name, const std::string& settings) {
        expect_success(command(
            {ranks, "tests/conformance/members_program " + engine() + " " + name, settings}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, CommsFromMembers, Everywhere::all(), Everywhere::name_of);

TEST_P(CommsFromMembers, OverlapAndCarryCollectives) { expect("overlapping"); }
TEST_P(CommsFromMembers, AreUsedByFastRanksBeforeSlowOnesHaveThem) { expect("ahead"); }
TEST_P(CommsFromMembers, UseNumbersAgain) { expect("reused"); }
TEST_P(CommsFromMembers, HaveTopologies) { expect("topologies"); }
TEST_P(CommsFromMembers, RefuseBadLists) { expect("refused"); }
TEST_P(CommsFromMembers, BreakWhenOneRankCannotMakeACall) { expect("refused_calls"); }
TEST_P(CommsFromMembers, EndWaitsAfterTheTimeout) { expect("late", "WEFT_TIMEOUT=0.5"); }
TEST_P(CommsFromMembers, OfTheSameHashAreRefusedAndThoseWhoWaitAreTold) {
    expect_of(3, "collision", "");
}
TEST_P(CommsFromMembers, BreakWhenAMemberDies) {
    const int ranks = 3;
    const Finished job =
        run(command({.ranks = ranks,
                     .program = "tests/conformance/members_program " + engine() + " dies",
                     .options = "--timeout 30 --grace 10"}));
    EXPECT_EQ(job.status, 128 + SIGKILL) << job.err;  // the victim's
    EXPECT_EQ(job.err.find("does not hold"), std::string::npos) << job.err;
    for (int rank = 0; rank < ranks - 1; ++rank) {
        EXPECT_NE(job.out.find("rank " + std::to_string(rank) + " was told"), std::string::npos)
            << job.out << job.err;
    }
}
TEST(Streams, OfACommunicatorAreBounded) {
    if (!runs_all()) GTEST_SKIP() << "takes long";
    expect_success(
        surroundings("shm").command({1, "tests/conformance/members_program manual streams"}));
}
TEST_P(CommsFromMembers, AreAsGoodWhenEveryCallIsChecked) {
    for (const char* name : {"overlapping", "ahead"}) expect_of(3, name, "WEFT_CHECK=1");
}
TEST_P(CommsFromMembers, AreUsedEarlyWithEitherProtocol) {
    for (const char* bytes : {"0", "1G"})
        expect_of(3, "ahead", std::string("WEFT_RENDEZVOUS=") + bytes);
}

}  // namespace weft::test::members_test
