// A rank that another one loses, by its death or by a cut link: every request of every rank that has
// it in its communicator ends, with a status that says which and why.
#include "lab/wrap/faulty.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/world.h"
#include "weft/collective.h"

namespace weft::test::lost_test {

// Loses a peer at one of its posts. Owns what it wraps.
class Losing final : public ForwardingTransport {
  public:
    Losing(std::unique_ptr<Transport> inner, std::uint64_t seed, FaultyOptions options)
        : ForwardingTransport(static_cast<Transport&>(faulty_)),
          owned_(std::move(inner)),
          faulty_(*owned_, seed, options) {}

  private:
    std::unique_ptr<Transport> owned_;
    FaultyTransport faulty_;
};

struct Loss {
    weft_status code;
    const char* sentence;
};

constexpr Loss losses[] = {
    {WEFT_BROKEN_RANK, "rank 2 of the job died or left"},
    {WEFT_BROKEN_TRANSPORT,
     "rank 2 of the job is out of reach: its host is dead, the link to it is cut, or its bytes are "
     "not Weft's"},
};

class Lost : public testing::TestWithParam<Loss> {};
INSTANTIATE_TEST_SUITE_P(Loss, Lost, testing::ValuesIn(losses),
                         [](const auto& loss) { return weft_status_name(loss.param.code); });

TEST_P(Lost, EndsAllRequestsWithItsReason) {
    constexpr Rank ranks = 4;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        // Rank 0 has posted a receive of failure notices for each of the others; the loss comes later.
        const FaultyOptions options{
            .lose_at_post = ranks + seed % 12, .lost_peer = 2, .lost_code = GetParam().code};
        World world(ranks, seed, {}, {}, [&](Rank rank, std::unique_ptr<Transport> inner) {
            if (rank != 0) return inner;
            return std::unique_ptr<Transport>(
                std::make_unique<Losing>(std::move(inner), seed, options));
        });
        std::vector<std::vector<std::int32_t>> values(ranks, std::vector<std::int32_t>(100));
        std::vector<std::pair<Rank, Request*>> requests;
        for (Rank rank = 0; rank < ranks; ++rank) {
            auto* data = values[static_cast<std::size_t>(rank)].data();
            for (int i = 0; i < 6; ++i) {
                requests.push_back({rank, world.start(rank, {.collective = Collective::allreduce,
                                                             .send_buf = WEFT_IN_PLACE,
                                                             .recv_buf = data + 10 * i,
                                                             .count = 10,
                                                             .type = WEFT_INT32,
                                                             .op = WEFT_SUM})});
            }
        }
        int broken = 0;
        while (world.step()) {
        }
        for (auto [rank, request] : requests) {
            InCall in_call(world.process(rank).engine());
            ASSERT_TRUE(request->is_done()) << "rank " << rank << " hangs";
            const Status status = world.world(rank).settle(*request);
            if (status.is_ok()) continue;  // it was done before the loss
            ++broken;
            EXPECT_EQ(status.code, GetParam().code);
            EXPECT_EQ(status.rank, 2);
            EXPECT_EQ(std::string(last_detail()),
                      std::string("allreduce on world: ") + GetParam().sentence);
        }
        EXPECT_GT(broken, 0);
        for (Rank rank = 0; rank < ranks; ++rank) {
            InCall in_call(world.process(rank).engine());
            Result<Request*> again =
                world.world(rank).start(Call{.collective = Collective::barrier});
            ASSERT_FALSE(again.is_ok());
            EXPECT_EQ(again.status().code, GetParam().code);
            EXPECT_EQ(again.status().rank, 2);
        }
    }
}

// --- A rank without memory -----------------------------------------------------------------------

class WithoutMemory : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(WithoutMemory, WithoutMemory, testing::Bool(), [](const auto& whether) {
    return whether.param ? "ForAMessage" : "ForAPost";
});

// Rank 0 has no memory for one of its posts, or for a message: every rank is told which rank it was.
TEST_P(WithoutMemory, BreaksTheGroupOnAllRanks) {
    constexpr Rank ranks = 4;
    int broken = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        // Rank 0 has posted a receive of failure notices for each of the others.
        const std::uint64_t post = ranks + seed % 20;
        FaultyOptions options{.hold_one_in = 3};
        (GetParam() ? options.lose_message_at_post : options.no_memory_at_post) = post;
        World world(ranks, seed, {}, {}, [&](Rank rank, std::unique_ptr<Transport> inner) {
            if (rank != 0) return inner;
            return std::unique_ptr<Transport>(
                std::make_unique<Losing>(std::move(inner), seed, options));
        });
        std::vector<std::vector<std::int32_t>> values(ranks, std::vector<std::int32_t>(60, 1));
        std::vector<std::pair<Rank, Request*>> requests;
        for (int i = 0; i < 6; ++i) {
            for (Rank rank = 0; rank < ranks; ++rank) {
                InCall in_call(world.process(rank).engine());
                if (world.world(rank).group().broken.code != WEFT_OK) continue;
                auto* data = values[static_cast<std::size_t>(rank)].data();
                Result<Request*> made =
                    world.world(rank).start(Call{.collective = Collective::allreduce,
                                                 .send_buf = WEFT_IN_PLACE,
                                                 .recv_buf = data + 10 * i,
                                                 .count = 10,
                                                 .type = WEFT_INT32,
                                                 .op = WEFT_SUM});
                ASSERT_TRUE(made.is_ok());
                requests.push_back({rank, *made});
            }
        }
        while (world.step()) {
        }
        for (auto [rank, request] : requests) {
            InCall in_call(world.process(rank).engine());
            ASSERT_TRUE(request->is_done()) << "rank " << rank << " hangs";
            const Status status = world.world(rank).settle(*request);
            if (status.is_ok()) continue;  // it was done before
            ++broken;
            EXPECT_EQ(status.code, WEFT_BROKEN_MEMORY);
            EXPECT_EQ(status.rank, 0);
            EXPECT_EQ(std::string(last_detail()),
                      "allreduce on world: rank 0 of the job ran out of memory");
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            InCall in_call(world.process(rank).engine());
            EXPECT_EQ(world.world(rank).group().broken.code, WEFT_BROKEN_MEMORY);
        }
    }
    EXPECT_GT(broken, 1000);
}

}  // namespace weft::test::lost_test
