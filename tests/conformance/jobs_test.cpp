// Real processes over shared memory: random programs at several numbers of ranks, with every engine
// and every way of moving large messages.
#include <gtest/gtest.h>

#include <string>

#include "select/select.h"
#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

void run_job(int ranks, const std::string& engine, int seed, int operations,
             const std::string& settings = "") {
    std::string command = settings + " " + build + "/weft run --timeout 90 -n " +
                          std::to_string(ranks) + " " + build +
                          "/tests/conformance/random_program " + std::to_string(seed) + " " +
                          std::to_string(operations) + " 1100000 " + engine;
    Process job(command);
    job.finish();
    EXPECT_EQ(job.status, 0) << "repeat with: " << command << "\n" << job.out << job.err;
}

class Jobs : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Jobs, testing::Values("manual", "thread", "switch"));

TEST_P(Jobs, OfTwoRanks) {
    for (int seed = 1; seed <= 4; ++seed) run_job(2, GetParam(), seed, 300);
}
TEST_P(Jobs, OfThreeRanks) {
    for (int seed = 11; seed <= 13; ++seed) run_job(3, GetParam(), seed, 150);
}
TEST_P(Jobs, OfFourRanks) {
    for (int seed = 21; seed <= 22; ++seed) run_job(4, GetParam(), seed, 120);
}
TEST_P(Jobs, OfSevenRanks) { run_job(7, GetParam(), 31, 80); }

TEST_P(Jobs, WithLargeMessagesThroughTheRing) {
    run_job(3, GetParam(), 41, 80, "WEFT_SHM_LARGE=ring");
}
TEST_P(Jobs, WithLargeMessagesFetchedFromTheSender) {
    run_job(3, GetParam(), 51, 80, "WEFT_SHM_LARGE=vm_readv");
}
TEST_P(Jobs, WithSmallRings) { run_job(3, GetParam(), 61, 80, "WEFT_SHM_RING=16384"); }

// The i-th algorithm of every collective, where the number of ranks and a program with operations
// that do not commute allow it.
TEST_P(Jobs, WithEveryAlgorithmForced) {
    for (int ranks : {2, 3, 4, 7}) {
        algorithm::Size size;
        size.ranks = ranks;
        size.commutative = false;
        for (std::size_t i = 0; i < 4; ++i) {
            std::string settings;
            for (const algorithm::Family& family : algorithm::catalogue()) {
                const algorithm::Algorithm& known =
                    *family.algorithms[i % family.algorithms.size()];
                size.tuning.ports = known.tunes == algorithm::Tunes::ports ? 2 : 1;
                if (!known.unmet_need(size).empty()) continue;
                settings += setting_of(family) + "=" + known.name;
                if (size.tuning.ports > 1) settings += ":ports=2";
                if (known.tunes == algorithm::Tunes::segments)
                    settings += ":segment=10000,window=3";
                settings += " ";
            }
            run_job(ranks, GetParam(), 71 + static_cast<int>(i), 40, settings);
        }
    }
}

TEST_P(Jobs, WithAlgorithmsThatNeedAPowerOfPortsPlusOne) {
    run_job(4, GetParam(), 75, 40, "WEFT_ALGORITHM_ALLGATHER=standard_exchange");
    run_job(3, GetParam(), 76, 40, "WEFT_ALGORITHM_ALLGATHER=standard_exchange:ports=2");
    run_job(7, GetParam(), 77, 40, "WEFT_ALGORITHM_ALLGATHER=bruck:ports=3");
}

TEST(Jobs, AreNotDisturbedByAForkedChildThatExits) {
    Process job(build + "/weft run --timeout 60 -n 2 " + build + "/tests/conformance/fork_program");
    job.finish();
    EXPECT_EQ(job.status, 0) << job.out << job.err;
}

TEST(PollingJobs, OfTwoRanks) { run_job(2, "thread:poll", 81, 100); }

TEST(Jobs, RefuseASettingThatDiffersAndNameTheRank) {
    Process job(build +
                "/weft run --timeout 30 -n 3 sh -c 'if [ $WEFT_RANK = 2 ]; then export "
                "WEFT_ALGORITHM_BCAST=chain; fi; exec " +
                build + "/tests/conformance/random_program 1 10 1000 manual'");
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
