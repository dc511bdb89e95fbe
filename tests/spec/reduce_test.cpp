// A reduction gives the root the combination of all contributions, in rank order unless the operation
// commutes.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

// Runs the case and calls check(index, result) for every element on the root.
template <class Check>
void run(const Case& c, weft_op op, Check check) {
    World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::reduce, c));
    std::vector<Guarded> from;
    Guarded into(c.count * 4);
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        from.emplace_back(c.count * 4);
        Guarded& own = c.in_place && rank == c.root ? into : from.back();
        for (std::size_t i = 0; i < c.count; ++i)
            own.as<std::int32_t>()[i] = input(rank, i, c.seed);
    }
    for (weft_status code : world.run_all([&](Rank rank) -> Call {
             const bool is_root = rank == c.root;
             return {.collective = Collective::reduce,
                     .send_buf = c.in_place && is_root
                                     ? WEFT_IN_PLACE
                                     : from[static_cast<std::size_t>(rank)].data(),
                     .recv_buf = is_root ? into.data() : nullptr,
                     .count = c.count,
                     .type = WEFT_UINT32,
                     .op = op,
                     .root = c.root};
         })) {
        ASSERT_EQ(code, WEFT_OK);
    }
    for (std::size_t i = 0; i < c.count; ++i) check(i, into.as<std::uint32_t>()[i]);
    ASSERT_TRUE(into.guards_untouched());
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        if (c.in_place && rank == c.root) continue;
        for (std::size_t i = 0; i < c.count; ++i) {
            ASSERT_EQ(from[static_cast<std::size_t>(rank)].as<std::int32_t>()[i],
                      input(rank, i, c.seed));
        }
    }
}

TEST(Reduce, TheRootGetsTheSum) {
    for_all_cases(Collective::reduce, [](const Case& c) {
        run(c, WEFT_SUM, [&](std::size_t i, std::uint32_t result) {
            std::uint32_t sum = 0;
            for (Rank rank = 0; rank < c.ranks; ++rank) {
                sum += static_cast<std::uint32_t>(input(rank, i, c.seed));
            }
            ASSERT_EQ(result, sum) << "element " << i;
        });
    });
}

TEST(Reduce, KeepsRankOrderForOperationsThatDoNotCommute) {
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(compose, 0, nullptr, &op), WEFT_OK);
    for_all_cases(
        Collective::reduce,
        [op](const Case& c) {
            run(c, op, [&](std::size_t i, std::uint32_t result) {
                ASSERT_EQ(result, composition(c, i)) << "element " << i;
            });
        },
        /*commutative=*/false);
    ASSERT_EQ(weft_op_free(&op), WEFT_OK);
}

}  // namespace
}  // namespace weft::test
