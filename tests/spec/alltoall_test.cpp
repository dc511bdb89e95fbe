// An alltoall gives every rank a block of every rank's own, by rank.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

TEST(Alltoall, EveryRankGetsItsBlockOfEveryRank) {
    for_all_cases(Collective::alltoall, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::alltoall, c));
        const std::size_t elements = c.count * static_cast<std::size_t>(c.ranks);
        std::vector<Guarded> from;
        std::vector<Guarded> into;
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            from.emplace_back(elements * 4);
            into.emplace_back(elements * 4);
            auto* own = (c.in_place ? into : from).back().as<std::int32_t>();
            for (std::size_t i = 0; i < elements; ++i) own[i] = input(rank, i, c.seed);
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 auto r = static_cast<std::size_t>(rank);
                 return {.collective = Collective::alltoall,
                         .send_buf = c.in_place ? WEFT_IN_PLACE : from[r].data(),
                         .recv_buf = into[r].data(),
                         .count = c.count,
                         .type = WEFT_INT32};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        for (std::size_t r = 0; r < into.size(); ++r) {
            for (std::size_t i = 0; i < elements; ++i) {
                const auto sender = static_cast<Rank>(i / c.count);
                ASSERT_EQ(into[r].as<std::int32_t>()[i],
                          input(sender, r * c.count + i % c.count, c.seed))
                    << "rank " << r << ", element " << i;
            }
            ASSERT_TRUE(into[r].guards_untouched());
            for (std::size_t i = 0; !c.in_place && i < elements; ++i) {
                ASSERT_EQ(from[r].as<std::int32_t>()[i], input(static_cast<Rank>(r), i, c.seed));
            }
        }
    });
}

}  // namespace
}  // namespace weft::test
