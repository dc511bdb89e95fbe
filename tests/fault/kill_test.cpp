// A killed rank makes the others' requests end with a status that names it, soon, at any moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/process.h"

namespace weft::test {
namespace {

class Killed : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Killed, testing::Values("manual", "thread", "tests"));

TEST_P(Killed, RankIsNamedByAllOthers) {
    const std::string build = WEFT_BUILD_DIR;
    const std::string file = testing::TempDir() + "weft_killed_" + std::to_string(getpid());
    for (int seed = 0; seed < 24; ++seed) {
        int ranks = 2 + seed % 3;
        int victim = seed / 3 % ranks;
        std::string command = build + "/weft run --timeout 30 -n " + std::to_string(ranks) + " " +
                              build + "/tests/fault/kill_program " + std::to_string(victim) + " " +
                              GetParam() + " " + std::to_string(seed) + " " + file;
        Process job(command);
        job.finish();
        // The launcher answers with the victim's status; what the others saw they say themselves.
        ASSERT_EQ(job.status, 128 + SIGKILL) << "repeat with: " << command << "\n" << job.err;
        ASSERT_EQ(job.err.find("detail:"), std::string::npos) << "repeat with: " << command << "\n"
                                                              << job.err;
        ASSERT_NE(job.err.find("rank " + std::to_string(victim) + " killed by signal 9"),
                  std::string::npos)
            << job.err;
        for (int rank = 0; rank < ranks; ++rank) {
            if (rank == victim) continue;
            ASSERT_NE(job.out.find("rank " + std::to_string(rank) + " was told"), std::string::npos)
                << "rank " << rank << " hung; repeat with: " << command << "\n"
                << job.err;
        }
        std::filesystem::remove(file);
    }
}

}  // namespace
}  // namespace weft::test
