// An allgather gives every rank every rank's block, by rank.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

TEST(Allgather, EveryRankGetsEveryBlock) {
    for_all_cases(Collective::allgather, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::allgather, c));
        std::vector<Guarded> mine;
        std::vector<Guarded> all;
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            mine.emplace_back(c.count * 4);
            all.emplace_back(c.count * 4 * static_cast<std::size_t>(c.ranks));
            std::int32_t* block = c.in_place ? all.back().as<std::int32_t>() +
                                                   c.count * static_cast<std::size_t>(rank)
                                             : mine.back().as<std::int32_t>();
            for (std::size_t i = 0; i < c.count; ++i) block[i] = input(rank, i, c.seed);
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 auto r = static_cast<std::size_t>(rank);
                 return {.collective = Collective::allgather,
                         .send_buf = c.in_place ? WEFT_IN_PLACE : mine[r].data(),
                         .recv_buf = all[r].data(),
                         .count = c.count,
                         .type = WEFT_INT32};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            Guarded& buffer = all[static_cast<std::size_t>(rank)];
            for (Rank from = 0; from < c.ranks; ++from) {
                for (std::size_t i = 0; i < c.count; ++i) {
                    ASSERT_EQ(
                        buffer.as<std::int32_t>()[static_cast<std::size_t>(from) * c.count + i],
                        input(from, i, c.seed))
                        << "rank " << rank << ", block " << from << ", element " << i;
                }
            }
            ASSERT_TRUE(buffer.guards_untouched());
            ASSERT_TRUE(mine[static_cast<std::size_t>(rank)].guards_untouched());
        }
    });
}

}  // namespace
}  // namespace weft::test
