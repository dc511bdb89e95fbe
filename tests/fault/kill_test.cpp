// A killed rank makes the others' requests end with a status that names it, soon, at any moment.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::kill_test {

// How the ranks wait: with either engine, or with calls of weft_test alone.
class Killed : public testing::TestWithParam<Driven> {
  protected:
    void SetUp() override {
        const auto& [where, way] = GetParam();
        for (const std::string& absence : {where.absence(), absence_of(way)}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        if (!runs_all() && where.has_one_engine && way != std::string("thread"))
            GTEST_SKIP() << "in this way only in a run of all tests";
        if (!is_its_turn(3)) GTEST_SKIP() << not_its_turn;
    }

    static void expect_named(int seeds, const std::string& options) {
        const auto& [where, way] = GetParam();
        const std::string file = testing::TempDir() + "weft_killed_" + std::to_string(getpid());
        for (int seed = 0; seed < seeds; ++seed) {
            int ranks = 2 + seed % 3;
            int victim = seed / 3 % ranks;
            // Every other time, large messages on dedicated connections wait for their receiver.
            const bool has_rendezvous =
                seed % 2 == 1 &&
                (way == std::string("kernel") || where.name == std::string("tcp_dedicated"));
            const std::string command = where.command(
                {.ranks = ranks,
                 .program = "tests/fault/kill_program " + std::to_string(victim) + " " + way + " " +
                            std::to_string(seed) + " " + file,
                 .settings = settings_of(way == std::string("tests") ? "manual" : way) +
                             (has_rendezvous ? dedicated_rendezvous : ""),
                 .options = "--timeout 30" + options});
            const Finished job = run(command);
            // The launcher answers with the victim's status; what the others saw they say themselves.
            ASSERT_EQ(job.status, 128 + SIGKILL) << "repeat with: " << command << "\n" << job.err;
            ASSERT_EQ(job.err.find("detail:"), std::string::npos)
                << "repeat with: " << command << "\n"
                << job.err;
            ASSERT_NE(job.err.find("rank " + std::to_string(victim) + " killed by signal 9"),
                      std::string::npos)
                << job.err;
            for (int rank = 0; rank < ranks; ++rank) {
                if (rank == victim) continue;
                ASSERT_NE(job.out.find("rank " + std::to_string(rank) + " was told"),
                          std::string::npos)
                    << "rank " << rank << " hung; repeat with: " << command << "\n"
                    << job.err;
            }
            std::filesystem::remove(file);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Killed,
                         testing::ValuesIn(driven_by({"manual", "thread", "tests", "kernel"})),
                         Everywhere::name_of);

TEST_P(Killed, RankIsNamedByAllOthers) {
    const Surroundings& where = std::get<0>(GetParam());
    expect_named(runs_all() ? 60 : where.usual_ranks == 0 ? 12 : 6, "");
}

TEST_P(Killed, RankIsNamedByAllOthersOverTwoLinks) {
    const Surroundings& where = std::get<0>(GetParam());
    if (!where.has_nodes) GTEST_SKIP() << "nodes have links";
    const bool is_everyday = where.ucx != nullptr;
    if (!runs_all() && !is_everyday) GTEST_SKIP() << "only in a run of all tests";
    expect_named(runs_all() ? 60 : 3, " --links 2");
}

}  // namespace weft::test::kill_test
