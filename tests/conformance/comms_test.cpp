// Communicators made from others, on real processes: comms_program.cpp says what must hold.
#include "support/pattern.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::comms_test {

class Comms : public Everywhere {
  protected:
    static void expect_program(int ranks, const std::string& program,
                               const std::string& settings = "") {
        expect_success(command({ranks, "tests/conformance/" + program, settings}));
    }
    static void expect(const std::string& name, const std::string& settings = "") {
        for (int ranks : some_of({1, 2, 3, 4, 7})) {
            expect_program(ranks, "comms_program " + engine() + " " + name, settings);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Comms, Everywhere::all(), Everywhere::name_of);

TEST_P(Comms, CarryAllCollectives) { expect("all_collectives"); }
TEST_P(Comms, SplitByColorAndKey) { expect("splits"); }
TEST_P(Comms, SplitByNode) { expect("nodes"); }
TEST_P(Comms, HaveSettingsOfTheirOwn) { expect("settings"); }
TEST_P(Comms, HaveTopologies) { expect("topologies"); }
TEST_P(Comms, FinishWhatIsOutstandingWhenFreed) { expect("frees"); }
TEST_P(Comms, DoNotWaitForOneAnother) { expect("interleaved"); }
TEST_P(Comms, AreUsedByFastRanksBeforeSlowOnesHaveThem) { expect("ahead"); }
TEST_P(Comms, RefuseBadCalls) { expect("refused"); }
TEST_P(Comms, AreAsGoodWhenEveryCallIsChecked) {
    for (const char* name : {"all_collectives", "interleaved", "ahead", "refused"}) {
        expect(name, "WEFT_CHECK=1");
    }
}
// Every message waits for its receive, or none that can be sent at once does.
TEST_P(Comms, CarryAllCollectivesWithEitherProtocol) {
    for (const char* bytes : {"0", "1G"}) {
        for (const char* name : {"all_collectives", "interleaved"}) {
            expect(name, std::string("WEFT_RENDEZVOUS=") + bytes);
        }
    }
}

TEST(CommsOverShm, TellHowManyBytesWireFormatsSaved) {
    const Finished done = expect_success(surroundings("shm").command(
        {2, "tests/conformance/comms_program manual settings", "WEFT_STATS=1"}));
    EXPECT_EQ(matches_in(done.err,
                         "weft: rank [01]: [0-9]+ operations, [^\n]*; wire formats saved "
                         "[1-9][0-9]{5,} bytes of messages; started by ")
                  .size(),
              2u)
        << done.err;
}

#if WEFT_HAS_TCP
TEST(CommsOverTcp, NeedFewDescriptors) {
    for (const char* engine : {"manual", "thread", "kernel"}) {
        expect_success("ulimit -n 256; " +
                       surroundings("tcp").command(
                           {8, std::string("tests/conformance/comms_program ") + engine + " many",
                            absence_of(engine).empty() ? settings_of(engine) : ""}));
    }
}
#endif

TEST_P(Comms, DoNotGrowInMemory) {
    expect_program(3, "comms_program " + engine() + " growth" + (runs_all() ? "" : " 2000"));
}

TEST_P(Comms, AreMadeAndUsedByThreadsAtTheSameTime) {
    for (int ranks : some_of({1, 2, 4})) {
        expect_program(ranks, "threads_program " + engine() + " 20");
    }
}

#if WEFT_HAS_TCP
// Several connections of each pair, over one interface and over two.
TEST(CommsOverConnections, CarryAllCollectives) {
    for (const char* connections : {"1", "3"}) {
        expect_success(surroundings("tcp").command(
            {4, "tests/conformance/comms_program thread all_collectives",
             std::string("WEFT_RESOURCES=connections=") + connections}));
    }
    const Surroundings& mixed = surroundings("mixed");
    if (!mixed.absence().empty()) GTEST_SKIP() << mixed.absence();
    for (const char* settings :
         {"", "WEFT_RESOURCES=connections=1", "WEFT_RESOURCES=connections=3"}) {
        for (const char* name : {"all_collectives", "interleaved"}) {
            expect_success(mixed.command(
                {.ranks = 4,
                 .program = std::string("tests/conformance/comms_program thread ") + name,
                 .settings = std::string("WEFT_INTERFACES=eth0,eth1 ") + settings,
                 .options = "--timeout 60 --links 2"}));
        }
    }
    expect_success(mixed.command({.ranks = 4,
                                  .program = "tests/conformance/comms_program thread settings",
                                  .settings = "WEFT_INTERFACES=eth0,eth1",
                                  .options = "--timeout 60 --links 2"}));
}
#endif

}  // namespace weft::test::comms_test
