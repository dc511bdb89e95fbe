// With accumulate=float32, sums of 16-bit elements are rounded once, by every algorithm.
#include "reduce/half.h"
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test::accumulate_test {

using Halves = std::vector<std::uint16_t>;

// Of the sums, not all are elements: whole numbers that float32 adds exactly.
float operand(Rank rank, std::size_t i, std::uint64_t seed) {
    return static_cast<float>(input(rank, i, seed) % 256) - 100.0f;
}

struct Kind {
    weft_type type;
    std::uint16_t (*narrow)(float);
};
constexpr Kind kinds[] = {{WEFT_FLOAT16, Float16::narrow<RoundTo::nearest>},
                          {WEFT_BFLOAT16, Bfloat16::narrow<RoundTo::nearest>}};

// The first and the last operand of rank `rank`'s result, and its block among those contributed.
struct Part {
    Rank first;
    Rank last;
    std::size_t block;
};

Part part_of(Collective collective, Rank rank, Rank ranks) {
    if (collective == Collective::scan) return {0, rank, 0};
    if (collective == Collective::exscan) return {0, rank - 1, 0};
    const bool scatters = collective == Collective::reduce_scatter_block;
    return {0, ranks - 1, scatters ? static_cast<std::size_t>(rank) : 0};
}

void expect_rounded_once(Collective collective, const Case& c, const Kind& kind, weft_op op,
                         float factor, bool divides) {
    CommunicatorSettings settings = forced(collective, c);
    settings.accumulates = true;
    World world(c.ranks, c.seed, sim_options(c.seed), settings);
    const bool scatters = collective == Collective::reduce_scatter_block;
    const std::size_t contributed =
        scatters ? c.count * static_cast<std::size_t>(c.ranks) : c.count;
    constexpr std::uint16_t untouched = 0x1234;
    std::vector<Halves> send;
    std::vector<Halves> recv;
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        Halves& own = send.emplace_back(contributed);
        for (std::size_t i = 0; i < contributed; ++i)
            own[i] = kind.narrow(operand(rank, i, c.seed));
        recv.push_back(c.in_place ? own : Halves(c.count, untouched));
    }
    for (const weft_status code : world.run_all([&](Rank rank) -> Call {
             const auto r = static_cast<std::size_t>(rank);
             return {.collective = collective,
                     .send_buf = c.in_place && (collective != Collective::reduce || rank == c.root)
                                     ? WEFT_IN_PLACE
                                     : send[r].data(),
                     .recv_buf = recv[r].data(),
                     .count = c.count,
                     .type = kind.type,
                     .op = op,
                     .root = collective == Collective::reduce ? c.root : 0};
         })) {
        ASSERT_EQ(code, WEFT_OK);
    }
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        if (collective == Collective::reduce && rank != c.root) continue;
        const Part part = part_of(collective, rank, c.ranks);
        if (part.last < part.first) continue;
        for (std::size_t i = 0; i < c.count; ++i) {
            float sum = 0;
            for (Rank r = part.first; r <= part.last; ++r)
                sum += factor * operand(r, part.block * c.count + i, c.seed);
            if (divides) sum /= static_cast<float>(c.ranks);
            ASSERT_EQ(recv[static_cast<std::size_t>(rank)][i], kind.narrow(sum))
                << "rank " << rank << ", element " << i << ", sum " << sum;
        }
    }
}

TEST(Accumulate, SumsOf16BitsAreRoundedOnceByEveryAlgorithm) {
    weft_op premultiplied = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create_premul_sum(0.5, &premultiplied), WEFT_OK);
    for (const Collective collective :
         {Collective::allreduce, Collective::reduce, Collective::reduce_scatter_block,
          Collective::scan, Collective::exscan}) {
        const bool is_prefix = collective == Collective::scan || collective == Collective::exscan;
        for_all_cases(collective, [&](const Case& c) {
            if (c.seed % 50 != 0) return;
            const Kind& kind = kinds[c.seed / 50 % 2];
            expect_rounded_once(collective, c, kind, WEFT_SUM, 1, false);
            if (!is_prefix) expect_rounded_once(collective, c, kind, WEFT_AVG, 1, true);
            expect_rounded_once(collective, c, kind, premultiplied, 0.5f, false);
        });
    }
    EXPECT_EQ(weft_op_free(&premultiplied), WEFT_OK);
}

}  // namespace weft::test::accumulate_test
