// A scatter gives every rank its block of the root's.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

TEST(Scatter, EveryRankGetsItsBlock) {
    for_all_cases(Collective::scatter, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::scatter, c));
        const std::size_t elements = c.count * static_cast<std::size_t>(c.ranks);
        std::vector<Guarded> mine(static_cast<std::size_t>(c.ranks), Guarded(c.count * 4));
        Guarded all(elements * 4);
        for (std::size_t i = 0; i < elements; ++i) {
            all.as<std::int32_t>()[i] = input(c.root, i, c.seed);
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 const bool in_place = c.in_place && rank == c.root;
                 return {.collective = Collective::scatter,
                         .send_buf = rank == c.root ? all.data() : nullptr,
                         .recv_buf = in_place ? const_cast<void*>(WEFT_IN_PLACE)
                                              : mine[static_cast<std::size_t>(rank)].data(),
                         .count = c.count,
                         .type = WEFT_INT32,
                         .root = c.root};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            auto r = static_cast<std::size_t>(rank);
            ASSERT_TRUE(mine[r].guards_untouched());
            if (c.in_place && rank == c.root) continue;
            for (std::size_t i = 0; i < c.count; ++i) {
                ASSERT_EQ(mine[r].as<std::int32_t>()[i], input(c.root, r * c.count + i, c.seed))
                    << "rank " << rank << ", element " << i;
            }
        }
        for (std::size_t i = 0; i < elements; ++i) {
            ASSERT_EQ(all.as<std::int32_t>()[i], input(c.root, i, c.seed));
        }
    });
}

}  // namespace
}  // namespace weft::test
