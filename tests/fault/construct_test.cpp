// A rank is killed while communicators are made, at any moment: every other rank soon learns which.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test {
namespace {

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
        ChildProcess job(command);
        job.finish();
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

}  // namespace
}  // namespace weft::test
