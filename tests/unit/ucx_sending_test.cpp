// What the ucx transport says about its sends; what every transport promises is in tests/conformance.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "conformance/ucx_world.h"
#include "support/surroundings.h"

namespace weft::test {
namespace {

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
    for (Rank rank : {0, 1}) ranks.at(rank).admit(context);
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

INSTANTIATE_TEST_SUITE_P(Bytes, UcxSends, testing::Values(8, 4096));

}  // namespace
}  // namespace weft::test
