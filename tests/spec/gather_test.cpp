// A gather gives the root every rank's block, by rank.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

TEST(Gather, TheRootGetsEveryBlock) {
    for_all_cases(Collective::gather, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::gather, c));
        std::vector<Guarded> mine;
        Guarded all(c.count * 4 * static_cast<std::size_t>(c.ranks));
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            mine.emplace_back(c.count * 4);
            const bool in_place = c.in_place && rank == c.root;
            std::int32_t* block = mine.back().as<std::int32_t>();
            if (in_place) {
                block = all.as<std::int32_t>() + c.count * static_cast<std::size_t>(rank);
            }
            for (std::size_t i = 0; i < c.count; ++i) block[i] = input(rank, i, c.seed);
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 const bool is_root = rank == c.root;
                 return {.collective = Collective::gather,
                         .send_buf = c.in_place && is_root
                                         ? WEFT_IN_PLACE
                                         : mine[static_cast<std::size_t>(rank)].data(),
                         .recv_buf = is_root ? all.data() : nullptr,
                         .count = c.count,
                         .type = WEFT_INT32,
                         .root = c.root};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        for (Rank from = 0; from < c.ranks; ++from) {
            for (std::size_t i = 0; i < c.count; ++i) {
                ASSERT_EQ(all.as<std::int32_t>()[static_cast<std::size_t>(from) * c.count + i],
                          input(from, i, c.seed))
                    << "block " << from << ", element " << i;
            }
            ASSERT_TRUE(mine[static_cast<std::size_t>(from)].guards_untouched());
        }
        ASSERT_TRUE(all.guards_untouched());
    });
}

}  // namespace
}  // namespace weft::test
