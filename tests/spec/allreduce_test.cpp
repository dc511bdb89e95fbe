// An allreduce gives every rank the combination of all contributions, in rank order, to the same
// bit.
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test {
namespace {

// Affine maps x -> a x + b modulo 2^16, packed; composition does not commute.
void compose(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::uint32_t*>(in);
    auto* right = static_cast<std::uint32_t*>(inout);
    for (size_t i = 0; i < count; ++i) {
        std::uint32_t a = (left[i] >> 16) * (right[i] >> 16) & 0xffff;
        std::uint32_t b = ((left[i] >> 16) * (right[i] & 0xffff) + (left[i] & 0xffff)) & 0xffff;
        right[i] = a << 16 | b;
    }
}

// Runs the case with elements of T and calls check(rank, results of that rank).
template <class T, class Check>
void run(const Case& c, weft_type type, weft_op op, Check check) {
    World world(c.ranks, c.seed, sim_options(c.seed), forced(Collective::allreduce, c));
    std::vector<Guarded> from;
    std::vector<Guarded> into;
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        from.emplace_back(c.count * sizeof(T));
        into.emplace_back(c.count * sizeof(T));
        T* operand = (c.in_place ? into : from).back().template as<T>();
        for (std::size_t i = 0; i < c.count; ++i)
            operand[i] = static_cast<T>(input(rank, i, c.seed));
    }
    for (weft_status code : world.run_all([&](Rank rank) -> Call {
             auto r = static_cast<std::size_t>(rank);
             return {.collective = Collective::allreduce,
                     .send_buf = c.in_place ? WEFT_IN_PLACE : from[r].data(),
                     .recv_buf = into[r].data(),
                     .count = c.count,
                     .type = type,
                     .op = op};
         })) {
        ASSERT_EQ(code, WEFT_OK);
    }
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        auto r = static_cast<std::size_t>(rank);
        check(rank, into[r].template as<T>());
        ASSERT_TRUE(into[r].guards_untouched());
        for (std::size_t i = 0; !c.in_place && i < c.count; ++i) {
            ASSERT_EQ(from[r].template as<T>()[i], static_cast<T>(input(rank, i, c.seed)));
        }
    }
}

TEST(Allreduce, KeepsRankOrderForOperationsThatDoNotCommute) {
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(compose, 0, nullptr, &op), WEFT_OK);
    for_all_cases(
        Collective::allreduce,
        [op](const Case& c) {
            run<std::uint32_t>(c, WEFT_UINT32, op, [&](Rank rank, const std::uint32_t* result) {
                for (std::size_t i = 0; i < c.count; ++i) {
                    ASSERT_EQ(result[i], composition(c, i)) << "rank " << rank << ", element " << i;
                }
            });
        },
        /*commutative=*/false);
    ASSERT_EQ(weft_op_free(&op), WEFT_OK);
}

TEST(Allreduce, SumsOfFloatsAreTheSameToTheBitOnAllRanks) {
    for_all_cases(Collective::allreduce, [](const Case& c) {
        std::vector<float> first(c.count);
        run<float>(c, WEFT_FLOAT32, WEFT_SUM, [&](Rank rank, const float* result) {
            if (c.count == 0) return;
            if (rank == 0) std::memcpy(first.data(), result, c.count * sizeof(float));
            ASSERT_EQ(std::memcmp(first.data(), result, c.count * sizeof(float)), 0)
                << "rank " << rank;
            double sum = 0;
            for (Rank from = 0; from < c.ranks; ++from) {
                sum += static_cast<float>(input(from, 0, c.seed));
            }
            ASSERT_NEAR(result[0], sum, 1e-4 * sum + 1);
        });
    });
}

}  // namespace
}  // namespace weft::test
