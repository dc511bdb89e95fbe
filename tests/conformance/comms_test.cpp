// Communicators made from others, on real processes: comms_program.cpp says what must hold.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

void run_program(int ranks, const std::string& program, const std::string& settings = "") {
    std::string command = settings + " " + build + "/weft run --timeout 60 -n " +
                          std::to_string(ranks) + " " + build + "/tests/conformance/" + program;
    Process job(command);
    job.finish();
    EXPECT_EQ(job.status, 0) << "repeat with: " << command << "\n" << job.out << job.err;
}

void run_case(int ranks, const std::string& engine, const std::string& name,
              const std::string& settings = "") {
    run_program(ranks, "comms_program " + engine + " " + name, settings);
}

class Comms : public testing::TestWithParam<std::tuple<int, const char*>> {
  protected:
    void expect(const char* name, const std::string& settings = "") {
        run_case(std::get<0>(GetParam()), std::get<1>(GetParam()), name, settings);
    }
};
INSTANTIATE_TEST_SUITE_P(RanksAndEngine, Comms,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7),
                                          testing::Values("manual", "thread")));

TEST_P(Comms, CarryAllCollectives) { expect("all_collectives"); }
TEST_P(Comms, SplitByColorAndKey) { expect("splits"); }
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

TEST(CommsOverTcp, NeedFewDescriptors) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    for (const char* engine : {"manual", "thread"})
        run_case(8, engine, "many", "ulimit -n 256; WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo");
}

TEST(CommsMemory, DoesNotGrow) {
    run_case(2, "manual", "growth");
    run_case(3, "thread", "growth");
}

TEST(CommsOfThreads, AreMadeAndUsedAtTheSameTime) {
    for (int ranks : {1, 2, 4}) {
        for (const char* engine : {"manual", "thread"}) {
            run_program(ranks, std::string("threads_program ") + engine + " 20");
        }
    }
}

}  // namespace
}  // namespace weft::test
