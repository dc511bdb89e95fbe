// A broadcast gives every rank what the root has.
#include "support/cases.h"

namespace weft::test {
namespace {

TEST(Bcast, EveryRankGetsTheRootsData) {
    for_all_cases(Collective::bcast, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::bcast, c));
        std::vector<Guarded> buffers;
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            buffers.emplace_back(c.count * 4);
            for (std::size_t i = 0; i < c.count; ++i) {
                buffers.back().as<std::int32_t>()[i] = input(rank, i, c.seed);
            }
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 return {.collective = Collective::bcast,
                         .recv_buf = buffers[static_cast<std::size_t>(rank)].data(),
                         .count = c.count,
                         .type = WEFT_INT32,
                         .root = c.root};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        for (Guarded& buffer : buffers) {
            for (std::size_t i = 0; i < c.count; ++i) {
                ASSERT_EQ(buffer.as<std::int32_t>()[i], input(c.root, i, c.seed))
                    << "element " << i;
            }
            ASSERT_TRUE(buffer.guards_untouched());
        }
    });
}

}  // namespace
}  // namespace weft::test
