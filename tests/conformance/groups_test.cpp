// Groups of processes of several jobs: groups_program.cpp says what must hold.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::groups_test {

class GroupsOfSeveralJobs : public testing::TestWithParam<Driven> {
  protected:
    static Finished expect(const std::string& arguments, const std::string& settings = "") {
        const auto& [where, engine] = GetParam();
        return expect_success(std::string(where.settings) + " " + settings_of(engine) + " " +
                              settings + " " WEFT_BUILD_DIR "/tests/conformance/groups_program " +
                              arguments);
    }
    void SetUp() override {
        const auto& [where, engine] = GetParam();
        if (where.ucx != nullptr) GTEST_SKIP() << "processes of several jobs do not use UCX";
        if (where.has_nodes) GTEST_SKIP() << "the processes are not started on nodes";
        for (const std::string& absence : {where.absence(), absence_of(engine)}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        if (!runs_all() && where.has_one_engine)
            GTEST_SKIP() << "these settings only in a run of all tests";
        if (!is_its_turn(4)) GTEST_SKIP() << not_its_turn;
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, GroupsOfSeveralJobs,
                         testing::ValuesIn(driven_by({"manual", "thread", "kernel"})),
                         Everywhere::name_of);

// (With other engines: {0,1} first, or all.)
TEST_P(GroupsOfSeveralJobs, MayBeMadeInAnyOrder) {
    const bool is_thorough = runs_all() || std::get<1>(GetParam()) == std::string("thread");
    expect(is_thorough ? "in_order 0 1 2 3 4 5" : "in_order 0 4");
}

TEST_P(GroupsOfSeveralJobs, CarryMessagesFromAnySource) { expect("messages 0"); }

TEST_P(GroupsOfSeveralJobs, AreMadeWhileOthersWaitForMessages) { expect("beside 0"); }

// A thread does for the program what messages need that wait for their receives, or for room.
TEST_P(GroupsOfSeveralJobs, ReachAProcessThatStaysAwayFromTheLibrary) {
    if (std::get<1>(GetParam()) == std::string("manual"))
        GTEST_SKIP() << "with this engine the program makes all progress";
    for (const char* settings : {"", "WEFT_RENDEZVOUS=0", "WEFT_RESOURCES=shm_ring=16384"})
        expect("away 0 1 2", settings);
}

TEST_P(GroupsOfSeveralJobs, LeaveNothingBehind) {
    if (!runs_all() && std::get<1>(GetParam()) != std::string("thread"))
        GTEST_SKIP() << "with this engine only in a run of all tests";
    // (A thousand groups, of seven processes and of three.)
    for (const char* groups :
         {runs_all() ? "many 48" : "many 3", runs_all() ? "every_order 56" : "every_order 3"})
        std::printf("%s", expect(groups).out.c_str());
}

TEST_P(GroupsOfSeveralJobs, AreNamedByTheirFailures) { expect("failure 0"); }

// (The numbers are seeds.)
TEST_P(GroupsOfSeveralJobs, AreAbortedWithTheirMessages) {
    std::string numbers;
    for (int i = 0; i < (runs_all() ? 200 : 4); ++i) numbers += " " + std::to_string(i);
    expect("aborted" + numbers);
}

// Microseconds.
std::string times(int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += " " + std::to_string(300 + i * 2711 % 20000);
    return all;
}

TEST_P(GroupsOfSeveralJobs, OutliveAProcessThatIsKilled) {
    expect("killed" + times(runs_all() ? 100 : 3));
}

TEST_P(GroupsOfSeveralJobs, EndTheirMessagesWithAProcessThatIsKilled) {
    expect("lost" + times(runs_all() ? 50 : 2));
}

TEST(GroupsOfSeveralJobsOverShm, AreRefusedWhereAThreadGetsSignals) {
    expect_success("WEFT_TRANSPORT=shm " WEFT_BUILD_DIR
                   "/tests/conformance/groups_program signals 1");
}

#if WEFT_HAS_TCP
TEST(GroupsOfSeveralJobsOverTcp, SendSignals) {
    expect_success("WEFT_TRANSPORT=tcp " WEFT_BUILD_DIR
                   "/tests/conformance/groups_program signals 0");
}
#endif

// They are not where messages of several jobs go.
TEST(GroupsOfSeveralJobsOverUcx, AreRefused) {
    if (const std::string absence = ucx_absence("tcp"); !absence.empty()) GTEST_SKIP() << absence;
    const Finished done = expect_failure(
        "WEFT_TRANSPORT=ucx UCX_TLS=tcp UCX_NET_DEVICES=lo UCX_LOG_LEVEL=error " WEFT_BUILD_DIR
        "/tests/conformance/groups_program failure 0",
        "processes of several jobs reach each other by shm and tcp alone");
}

}  // namespace weft::test::groups_test
