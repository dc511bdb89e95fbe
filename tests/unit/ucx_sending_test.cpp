// What the ucx transport says about its sends; what every transport promises is in tests/conformance.
#include "conformance/ucx_world.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::ucx_sending_test {

int anything;  // tokens need an address
constexpr std::uint64_t context = 1;

std::size_t completions(Transport& transport) {
    std::array<Completion, 4> done;
    const std::size_t count = transport.poll(done);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(done[i].code, WEFT_OK);
    return count;
}

class UcxSends : public testing::TestWithParam<std::size_t> {};

// UCX connects after the first message has been sent, and only while it is called.
TEST_P(UcxSends, HaveLeftTheirRankWhenTheyEnd) {
    if (const std::string absence = ucx_absence("tcp"); !absence.empty()) GTEST_SKIP() << absence;
    UcxRanks ranks(2, "tcp", {});
    for (Rank rank : {0, 1}) ranks.at(rank).open_context(context);
    const std::vector<std::byte> sent(GetParam(), std::byte{5});
    std::vector<std::byte> got(sent.size());
    const StreamId stream{context, 0};
    ASSERT_EQ(ranks.at(1).post_recv({0, stream}, got, {&anything, 1}), Posted::pending);
    bool is_sent = ranks.at(0).post_send({1, stream}, sent, {&anything, 2}) == Posted::done;
    std::size_t received = 0;
    for (int i = 0; i < 1'000'000 && !is_sent; ++i) {
        is_sent = completions(ranks.at(0)) > 0;
        if (!is_sent) received += completions(ranks.at(1));
    }
    ASSERT_TRUE(is_sent);
    // From now on its rank computes.
    for (int i = 0; i < 1'000'000 && received == 0; ++i) received = completions(ranks.at(1));
    EXPECT_EQ(received, 1u);
    EXPECT_TRUE(got == sent);
}

// The second one begins when the first one has filled the way to its rank.
TEST(UcxMessages, OfOneDirectionDoNotWaitForTheEndOfThoseOfTheOther) {
    if (const std::string absence = ucx_absence("tcp"); !absence.empty()) GTEST_SKIP() << absence;
    UcxRanks ranks(2, "tcp", {});
    const StreamId stream{context, 0};
    const std::vector<std::byte> long_sent(16 << 20, std::byte{5});
    const std::vector<std::byte> short_sent(256 << 10, std::byte{6});
    std::vector<std::byte> long_got(long_sent.size());
    std::vector<std::byte> short_got(short_sent.size());
    for (Rank rank : {0, 1}) ranks.at(rank).open_context(context);
    ASSERT_EQ(ranks.at(1).post_recv({0, stream}, long_got, {&anything, 1}), Posted::pending);
    ASSERT_EQ(ranks.at(0).post_recv({1, stream}, short_got, {&anything, 2}), Posted::pending);
    for (int i = 0; i < 1'000; ++i) {
        for (Rank rank : {0, 1}) ASSERT_EQ(completions(ranks.at(rank)), 0u);
    }
    ASSERT_EQ(ranks.at(0).post_send({1, stream}, long_sent, {&anything, 3}), Posted::pending);
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(completions(ranks.at(0)), 0u);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(completions(ranks.at(1)), 0u);
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(completions(ranks.at(0)), 0u);
    ASSERT_EQ(ranks.at(1).post_send({0, stream}, short_sent, {&anything, 4}), Posted::pending);
    std::vector<std::uint32_t> ended;
    std::array<Completion, 4> done;
    for (int i = 0; i < 10'000'000 && ended.size() < 4; ++i) {
        for (Rank rank : {0, 1}) {
            const std::size_t count = ranks.at(rank).poll(done);
            for (std::size_t k = 0; k < count; ++k) {
                EXPECT_EQ(done[k].code, WEFT_OK);
                ended.push_back(done[k].token.op);
            }
        }
    }
    ASSERT_EQ(ended.size(), 4u);
    EXPECT_EQ(ended.back(), 1u) << "the receive of the long message";
    EXPECT_TRUE(long_got == long_sent);
    EXPECT_TRUE(short_got == short_sent);
}

TEST(UcxFrames, AreCountedBeyondTheirLargestNumber) {
    if (const std::string absence = ucx_absence("tcp"); !absence.empty()) GTEST_SKIP() << absence;
    UcxRanks ranks(2, "tcp", {.first_sequence = ~std::uint32_t{0} - 20});
    const StreamId stream{context, 0};
    for (Rank rank : {0, 1}) ranks.at(rank).open_context(context);
    // Eager, and large ones, in both directions.
    for (std::size_t round = 0; round < 40; ++round) {
        const std::vector<std::byte> sent(round % 4 == 3 ? 100'000 : 8,
                                          static_cast<std::byte>(round));
        std::vector<std::byte> got[2] = {std::vector<std::byte>(sent.size()),
                                         std::vector<std::byte>(sent.size())};
        std::size_t ended = 0;
        for (const Rank rank : {0, 1}) {
            const Lane lane{1 - rank, stream};
            ended += ranks.at(rank).post_recv(lane, got[rank], {&anything, 0}) == Posted::done;
            ended += ranks.at(rank).post_send(lane, sent, {&anything, 1}) == Posted::done;
        }
        for (int i = 0; i < 1'000'000 && ended < 4; ++i)
            ended += completions(ranks.at(0)) + completions(ranks.at(1));
        ASSERT_EQ(ended, 4u) << "round " << round;
        EXPECT_TRUE(got[0] == sent && got[1] == sent) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Bytes, UcxSends, testing::Values(8, 4096));

}  // namespace weft::test::ucx_sending_test
