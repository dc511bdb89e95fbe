// Rule 1: one receive chain and one send chain at a time on a socket, handed on by a lane token.
#include <sys/socket.h>

#include <thread>

#include "tests/kernel/ring.h"

namespace weft::test::lanes_test {

constexpr std::size_t lists = 6;
constexpr std::size_t segments = 4;
constexpr std::size_t segment_bytes = 128 << 10;
constexpr std::size_t list_bytes = segments * segment_bytes;

class LaneToken : public IoUring {};

std::span<std::byte> segment(ByteVector& bytes, std::size_t list, std::size_t i) {
    return std::span(bytes).subspan(list * list_bytes + i * segment_bytes, segment_bytes);
}

// Tokens between lists: the i-th list takes the i-th and gives the next. At first only the first is set.
std::vector<Fd> lane_tokens() {
    std::vector<Fd> tokens;
    for (std::size_t i = 0; i <= lists; ++i) tokens.push_back(semaphore(i == 0 ? 1 : 0));
    return tokens;
}

void expect_every_list(Ring& ring) {
    for (std::size_t i = 0; i < lists; ++i) {
        EXPECT_EQ(ring.next(), (RingCompletion{i, sizeof(std::uint64_t)}));
    }
}

TEST_F(LaneToken, OrdersTheReceivesOfListsThatWereSubmittedOneByOne) {
    for (unsigned run = 0; run < 5; ++run) {
        Connection wire;
        Ring ring;
        ByteVector got(lists * list_bytes);
        const ByteVector sent = pattern(got.size(), run);
        const std::vector<Fd> tokens = lane_tokens();
        for (std::size_t i = 0; i < lists; ++i) {
            List list(ring, i);
            list.take(tokens[i].get());
            for (std::size_t s = 0; s < segments; ++s) {
                list.recv(wire.far.get(), segment(got, i, s));
            }
            list.give(tokens[i + 1].get()).start();
        }
        std::thread sender([&] { write_all(wire.near.get(), sent); });
        expect_every_list(ring);
        sender.join();
        EXPECT_TRUE(got == sent) << "run " << run;
    }
}

TEST_F(LaneToken, OrdersTheSendsOfListsThatWereSubmittedOneByOne) {
    for (unsigned run = 0; run < 5; ++run) {
        Connection wire;
        // Less than a segment: every send has to wait for the receiver.
        const int buffer_bytes = 32 << 10;
        ASSERT_EQ(setsockopt(wire.near.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(int)),
                  0);
        Ring ring;
        ByteVector sent = pattern(lists * list_bytes, run);
        ByteVector got(sent.size());
        const std::vector<Fd> tokens = lane_tokens();
        for (std::size_t i = 0; i < lists; ++i) {
            List list(ring, i);
            list.take(tokens[i].get());
            for (std::size_t s = 0; s < segments; ++s) {
                list.send(wire.near.get(), segment(sent, i, s));
            }
            list.give(tokens[i + 1].get()).start();
        }
        std::thread receiver([&] { read_all(wire.far.get(), got); });
        expect_every_list(ring);
        receiver.join();
        EXPECT_TRUE(got == sent) << "run " << run;
    }
}

}  // namespace weft::test::lanes_test
