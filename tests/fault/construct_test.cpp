// A rank is killed while communicators are made, at any moment: every other rank soon learns which.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::construct_test {

class KilledInConstructor : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, KilledInConstructor, Everywhere::all(), Everywhere::name_of);

TEST_P(KilledInConstructor, RankIsNamedByAllOthers) {
    if (where().ucx != nullptr && where().ucx != std::string("tcp"))
        GTEST_SKIP() << "a rank killed while it writes into a queue of UCX stops it (decision 15)";
    const std::string file = testing::TempDir() + "weft_construct_" + std::to_string(getpid());
    const int seeds = where().usual_ranks == 0 ? 120 : runs_all() ? 200 : 8;
    for (int seed = 0; seed < seeds; ++seed) {
        int ranks = 2 + seed % 4;
        int victim = seed / 4 % ranks;
        const std::string command = Everywhere::command(
            {.ranks = ranks,
             .program = "tests/fault/construct_program " + std::to_string(victim) + " " + engine() +
                        " " + std::to_string(2000 + seed * 7919 % 3000) + " " + file,
             .options = "--timeout 30 --grace 10"});
        const Finished job = run(command);
        std::filesystem::remove(file);
        // The launcher answers with the victim's status; what the others saw they say themselves.
        ASSERT_EQ(job.status, 128 + SIGKILL) << "repeat with: " << command << "\n" << job.err;
        ASSERT_EQ(job.err.find("detail:"), std::string::npos) << "repeat with: " << command << "\n"
                                                              << job.err;
        for (int rank = 0; rank < ranks; ++rank) {
            if (rank == victim) continue;
            ASSERT_NE(job.out.find("rank " + std::to_string(rank) + " was told"), std::string::npos)
                << "rank " << rank << " hung; repeat with: " << command << "\n"
                << job.err;
        }
    }
}

// What a survivor sees is another test's: a victim that writes into a queue of UCX stops it (decision 15). None may
// end by a signal, as some did in UCX's keepalive.
TEST(KilledInConstructorOverMemoryOfUcx, NeverCrashesASurvivor) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    const std::string file = testing::TempDir() + "weft_crash_" + std::to_string(getpid());
    constexpr int kills = 500;
    int untold = 0;
    for (int seed = 0; seed < kills; ++seed) {
        const Surroundings& where = surroundings(seed % 2 == 0 ? "ucx_posix" : "ucx_all");
        if (const std::string absence = where.absence(); !absence.empty()) GTEST_SKIP() << absence;
        const int ranks = 2 + seed / 2 % 4;
        const int victim = seed / 8 % ranks;
        const std::string command = where.command(
            {.ranks = ranks,
             .program = "tests/fault/construct_program " + std::to_string(victim) + " thread " +
                        std::to_string(2000 + seed * 7919 % 3000) + " " + file,
             .settings = "WEFT_TIMEOUT=5",
             .options = "--timeout 30 --grace 20"});
        const Finished job = run(command);
        std::filesystem::remove(file);
        EXPECT_EQ(job.status, 128 + SIGKILL) << "repeat with: " << command << "\n" << job.err;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::string name = "rank " + std::to_string(rank);
            if (rank == victim) continue;
            EXPECT_FALSE(contains(job.err, name + " killed by signal"))
                << "repeat with: " << command << "\n"
                << job.err;
            untold += contains(job.out, name + " was told") ? 0 : 1;
        }
    }
    std::printf("%d kills; %d survivors were not told in time\n", kills, untold);
}

}  // namespace weft::test::construct_test
