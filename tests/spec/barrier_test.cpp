// A barrier completes nowhere before every rank has started it, and then everywhere.
#include "support/cases.h"

namespace weft::test::barrier_test {

TEST(Barrier, CompletesOnceAllHaveStarted) {
    for_all_cases(Collective::barrier, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::barrier, c));
        std::vector<std::pair<Rank, Request*>> started;
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            if (rank == c.root) continue;  // the last one
            started.push_back({rank, world.start(rank, {.collective = Collective::barrier})});
        }
        while (world.step()) {
        }
        for (auto [rank, request] : started) EXPECT_FALSE(request->is_done()) << "rank " << rank;
        started.push_back({c.root, world.start(c.root, {.collective = Collective::barrier})});
        for (weft_status code : world.finish(started)) EXPECT_EQ(code, WEFT_OK);
    });
}

}  // namespace weft::test::barrier_test
