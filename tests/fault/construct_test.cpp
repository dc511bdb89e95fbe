// A rank killed while communicators are made: every other rank is told who, soon, at any moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/process.h"

namespace weft::test {
namespace {

class KilledInConstructor : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, KilledInConstructor, testing::Values("manual", "thread"));

TEST_P(KilledInConstructor, RankIsNamedByAllOthers) {
    const std::string build = WEFT_BUILD_DIR;
    const std::string file = testing::TempDir() + "weft_construct_" + std::to_string(getpid());
    for (int seed = 0; seed < 120; ++seed) {
        int ranks = 2 + seed % 4;
        int victim = seed / 4 % ranks;
        std::string command =
            build + "/weft run --timeout 30 --grace 10 -n " + std::to_string(ranks) + " " + build +
            "/tests/fault/construct_program " + std::to_string(victim) + " " + GetParam() + " " +
            std::to_string(2000 + seed * 7919 % 3000) + " " + file;
        Process job(command);
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
