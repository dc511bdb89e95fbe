// What travels in front of every message on a connection.
#include "transport/tcp/wire.h"

#include "base/random.h"
#include "support/test.h"

namespace weft::tcp::tcp_frame_test {

TEST(Frame, HeaderCarriesEveryField) {
    Prng random(1);
    for (int i = 0; i < 10'000; ++i) {
        const Frame sent{static_cast<FrameKind>(random.below(16)),
                         static_cast<std::uint16_t>(random.next()),
                         random.next() & Frame::bytes_max, random.next()};
        const Frame::Header header = sent.encoded();
        const Frame read = Frame::decoded(header);
        EXPECT_EQ(read.kind, sent.kind);
        EXPECT_EQ(read.sequence, sent.sequence);
        EXPECT_EQ(read.bytes, sent.bytes);
        EXPECT_EQ(read.stream, sent.stream);
        EXPECT_EQ(read.encoded(), header) << "no bit is left out";
    }
}

TEST(Frame, OnlyMessagesHavePayload) {
    constexpr std::uint64_t much = 10 * part_bytes + 1;
    for (int kind = 0; kind < 16; ++kind) {
        const Frame large{static_cast<FrameKind>(kind), 0, much, 0};
        const Frame small{static_cast<FrameKind>(kind), 0, 3, 0};
        switch (static_cast<FrameKind>(kind)) {
            case FrameKind::eager:
                EXPECT_EQ(large.payload_bytes(), much);
                EXPECT_EQ(small.payload_bytes(), 3u);
                break;
            case FrameKind::data:
                EXPECT_EQ(large.payload_bytes(), part_bytes);
                EXPECT_EQ(small.payload_bytes(), 3u);
                break;
            default: EXPECT_EQ(large.payload_bytes(), 0u) << kind;
        }
    }
}

}  // namespace weft::tcp::tcp_frame_test
