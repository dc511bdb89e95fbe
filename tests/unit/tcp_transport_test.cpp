// The tcp transport by itself, over loopback: what the tests of all transports do not ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "conformance/tcp_world.h"

namespace weft::test {
namespace {

constexpr std::byte untouched{0x5c};

bool is_untouched(const std::vector<std::byte>& buffer) {
    return std::ranges::all_of(buffer, [](std::byte b) { return b == untouched; });
}

// Its end reads what still comes, and whoever posted receives may have ended before.
TEST(TcpTransport, TouchesNoBufferWhenItEnds) {
    for (std::uint64_t context : {0u, 1u}) {
        TcpRanks ranks(2, {.interfaces = "127.0.0.1", .peer_timeout_ns = 500'000'000});
        std::unique_ptr<TcpTransport> ends[2] = {ranks.take(0), ranks.take(1)};
        const std::int64_t give_up = now_ns() + 20'000'000'000;
        std::thread other([&] { EXPECT_TRUE(ends[0]->open_all(give_up).is_ok()); });
        EXPECT_TRUE(ends[1]->open_all(give_up).is_ok());
        other.join();
        ends[1]->admit(context);
        std::vector<std::byte> into(300, untouched);
        const std::vector<std::byte> from(into.size(), std::byte{1});
        ASSERT_EQ(ends[1]->post_recv(Lane(0, {context, 0}), into, {}), Posted::pending);
        ASSERT_EQ(ends[0]->post_send(Lane(1, {context, 0}), from, {}), Posted::done);
        ends[1].reset();
        EXPECT_TRUE(is_untouched(into)) << "context " << context;
    }
}

}  // namespace
}  // namespace weft::test
