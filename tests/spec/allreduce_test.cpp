// An allreduce of floats gives every rank the same bits.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test::allreduce_test {

TEST(Allreduce, SumsOfFloatsAreTheSameToTheBitOnAllRanks) {
    for_all_cases(Collective::allreduce, [](const Case& c) {
        World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::allreduce, c));
        std::vector<std::vector<float>> operands;
        std::vector<std::vector<float>> sums;
        double sum = 0;  // of the first elements
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            std::vector<float>& operand = operands.emplace_back(c.count);
            for (std::size_t i = 0; i < c.count; ++i)
                operand[i] = static_cast<float>(input(rank, i, c.seed));
            sum += static_cast<float>(input(rank, 0, c.seed));
            sums.push_back(operand);
        }
        for (weft_status code : world.run_all([&](Rank rank) -> Call {
                 const auto r = static_cast<std::size_t>(rank);
                 return {.collective = Collective::allreduce,
                         .send_buf = c.in_place ? WEFT_IN_PLACE : operands[r].data(),
                         .recv_buf = sums[r].data(),
                         .count = c.count,
                         .type = WEFT_FLOAT32,
                         .op = WEFT_SUM};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        if (c.count == 0) return;
        for (const std::vector<float>& own : sums)
            ASSERT_EQ(std::memcmp(own.data(), sums.front().data(), c.count * sizeof(float)), 0);
        ASSERT_NEAR(sums.front().front(), sum, 1e-4 * sum + 1);
    });
}

}  // namespace weft::test::allreduce_test
