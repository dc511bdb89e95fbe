// What the switch of an emulated cluster computes: frames and their parts, losses, when packets
// arrive, what it says in the end.
#include <arpa/inet.h>

#include "support/test.h"
#include "tools/weft/amounts.h"
#include "tools/weft/switch/frame.h"
#include "tools/weft/switch/incoming.h"
#include "tools/weft/switch/losses.h"
#include "tools/weft/switch/report.h"
#include "tools/weft/switch/wake_up.h"

namespace weft::test::switch_test {

using Frame = std::vector<std::byte>;

constexpr std::size_t virtio_bytes = sizeof(VirtioHeader);
constexpr std::uint8_t push = 0x08, fin = 0x01, cwr = 0x80, ack = 0x10;

std::byte octet(std::size_t value) { return static_cast<std::byte>(value & 0xff); }

void put(Frame& frame, std::initializer_list<std::size_t> octets) {
    for (std::size_t value : octets) frame.push_back(octet(value));
}

void put(Frame& frame, std::size_t at, std::size_t number) {
    frame[at] = octet(number >> 8);
    frame[at + 1] = octet(number);
}

std::size_t number(const Frame& frame, std::size_t at) {
    return std::to_integer<std::size_t>(frame[at]) << 8 |
           std::to_integer<std::size_t>(frame[at + 1]);
}

std::size_t long_number(const Frame& frame, std::size_t at) {
    return number(frame, at) << 16 | number(frame, at + 2);
}

// The sum of 16-bit numbers in ones' complement, as RFC 1071 has it.
std::size_t sum(const Frame& frame, std::size_t from, std::size_t to, std::size_t start = 0) {
    std::size_t total = start;
    for (std::size_t at = from; at < to; at += 2) {
        total += at + 1 < to ? number(frame, at) : std::to_integer<std::size_t>(frame[at]) << 8;
    }
    while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
    return total;
}

// A frame of TCP with time stamps (12 bytes of options), as the kernel leaves it to an adapter.
struct Segments {
    bool is_ipv6 = false;
    bool has_tag = false;
    std::size_t payload = 0;
    std::size_t packet_payload = 1000;
    std::size_t flags = ack | push | fin | cwr;

    std::size_t ip() const { return virtio_bytes + 14 + (has_tag ? 4u : 0u); }
    std::size_t tcp() const { return ip() + (is_ipv6 ? 40u : 20u); }
    std::size_t headers() const { return tcp() + 32 - virtio_bytes; }

    // Of addresses, protocol and length.
    std::size_t pseudo_sum(const Frame& frame) const {
        const std::size_t addresses = ip() + (is_ipv6 ? 8u : 12u);
        return sum(frame, addresses, addresses + (is_ipv6 ? 32u : 8u), 6 + frame.size() - tcp());
    }

    Frame frame() const {
        Frame frame(virtio_bytes);
        const bool is_cut = payload > packet_payload;
        const VirtioHeader header{VirtioHeader::needs_checksum,
                                  !is_cut   ? VirtioHeader::one_packet
                                  : is_ipv6 ? VirtioHeader::tcp_over_ipv6
                                            : VirtioHeader::tcp_over_ipv4,
                                  static_cast<std::uint16_t>(headers()),
                                  static_cast<std::uint16_t>(is_cut ? packet_payload : 0),
                                  static_cast<std::uint16_t>(tcp() - virtio_bytes),
                                  16};
        std::memcpy(frame.data(), &header, sizeof header);
        put(frame, {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2});
        if (has_tag) put(frame, {0x81, 0, 0, 7});
        const std::size_t length = payload + 32 + (is_ipv6 ? 0u : 20u);
        if (is_ipv6) {
            put(frame, {0x86, 0xdd, 0x60, 0, 0, 0, length >> 8, length, 6, 64});
            for (std::size_t i = 0; i < 32; ++i) frame.push_back(octet(0xf0 + 7 * i));
        } else {
            put(frame, {8, 0, 0x45, 0,  length >> 8, length, 0xff, 0xfe, 0x40, 0, 64,
                        6, 0, 0,    10, 77,          0,      1,    10,   77,   0, 2});
            put(frame, ip() + 10, ~sum(frame, ip(), ip() + 20));
        }
        put(frame, {0x1b, 0x58, 0xc0, 0x01, 0xff, 0xff, 0xff, 0,  1, 2, 3, 4, 0x80, flags, 1, 0,
                    0,    0,    0,    0,    1,    1,    8,    10, 1, 2, 3, 4, 5,    6,     7, 8});
        for (std::size_t i = 0; i < payload; ++i) frame.push_back(octet(i * i + i / 256));
        put(frame, tcp() + 16, pseudo_sum(frame));
        return frame;
    }
};

Frame whole(const Frame& frame, const FramePiece& piece) {
    Frame made = piece.head;
    const auto begin = frame.begin() + static_cast<std::ptrdiff_t>(piece.offset);
    made.insert(made.end(), begin, begin + static_cast<std::ptrdiff_t>(piece.bytes));
    return made;
}

TEST(SwitchFrame, APacketCountsOnTheLinkAsItIs) {
    const Segments one{.payload = 8};
    const auto shape = shape_of(one.frame());
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->packets, 1u);
    EXPECT_EQ(shape->link_bytes(), 14u + 20 + 32 + 8);
}

TEST(SwitchFrame, EveryPacketOfALargeFrameHasHeadersOnTheLink) {
    for (bool is_ipv6 : {false, true}) {
        const Segments large{.is_ipv6 = is_ipv6, .payload = 40'500};
        const auto shape = shape_of(large.frame());
        ASSERT_TRUE(shape);
        EXPECT_EQ(shape->packets, 41u);
        EXPECT_EQ(shape->link_bytes(), 40'500 + 41 * large.headers());
    }
}

TEST(SwitchFrame, WhatIsShorterThanItsHeadersIsNoFrame) {
    const Frame large = Segments{.payload = 5000}.frame();
    for (std::size_t bytes : {0u, 9u, 23u, 40u, 75u}) {
        EXPECT_FALSE(shape_of({large.data(), bytes})) << bytes;
    }
    for (std::size_t at = 0; at < virtio_bytes + 80; ++at) {  // and nothing is read outside of one
        Frame broken = large;
        broken[at] = octet(0xff);
        broken.resize(at % 2 == 0 ? broken.size() : virtio_bytes + 80);
        const auto shape = shape_of(broken);
        if (!shape || shape->packets < 2) continue;
        EXPECT_EQ(shape->headers + shape->payload, broken.size() - virtio_bytes);
        for (std::uint32_t i = 0; i < shape->packets; ++i) whole(broken, cut(broken, *shape, i, 1));
    }
}

TEST(SwitchFrame, PartsAreWhatAnAdapterWouldHaveSent) {
    for (const Segments& large :
         {Segments{.payload = 5500}, Segments{.is_ipv6 = true, .payload = 5500},
          Segments{.has_tag = true, .payload = 5001}, Segments{.payload = 65'000, .flags = ack}}) {
        const Frame frame = large.frame();
        const auto shape = shape_of(frame);
        ASSERT_TRUE(shape);
        const std::uint32_t packets = shape->packets;
        const std::initializer_list<PacketRun> runs = {
            {0, 1}, {0, 2}, {1, 1}, {1, packets - 2}, {1, packets - 1}, {packets - 1, 1}};
        for (const PacketRun run : runs) {
            SCOPED_TRACE(testing::Message()
                         << run.first << " " << run.packets << " of " << packets);
            const Frame part = whole(frame, cut(frame, *shape, run.first, run.packets));
            const std::size_t from = run.first * large.packet_payload;
            const std::size_t to =
                std::min(large.payload, (run.first + run.packets) * large.packet_payload);
            const bool is_last = run.first + run.packets == packets;

            const auto of_part = shape_of(part);
            ASSERT_TRUE(of_part);
            EXPECT_EQ(of_part->packets, run.packets);
            EXPECT_EQ(of_part->link_bytes(), to - from + run.packets * large.headers());
            EXPECT_TRUE(
                std::equal(part.end() - static_cast<std::ptrdiff_t>(to - from), part.end(),
                           frame.end() - static_cast<std::ptrdiff_t>(large.payload - from)));

            EXPECT_EQ(long_number(part, large.tcp() + 4),
                      (long_number(frame, large.tcp() + 4) + from) & 0xffffffff);
            const std::size_t flags = std::to_integer<std::size_t>(part[large.tcp() + 13]);
            EXPECT_EQ(flags & (push | fin), is_last ? large.flags & (push | fin) : 0);
            EXPECT_EQ(flags & cwr, run.first == 0 ? large.flags & cwr : 0);
            EXPECT_EQ(number(part, large.tcp() + 16), large.pseudo_sum(part)) << "unfinished sum";
            if (large.is_ipv6) {
                EXPECT_EQ(number(part, large.ip() + 4), part.size() - large.ip() - 40);
            } else {
                EXPECT_EQ(number(part, large.ip() + 2), part.size() - large.ip());
                EXPECT_EQ(number(part, large.ip() + 4), (0xfffe + run.first) & 0xffff);
                EXPECT_EQ(sum(part, large.ip(), large.ip() + 20), 0xffffu);
            }
        }
    }
}

TEST(SwitchLosses, FollowTheProbabilityAndDoNotDependOnHowPacketsAreGrouped) {
    const auto lost = [](std::uint32_t group) {
        Losses losses(0.01, 3);
        std::vector<std::uint32_t> all;
        for (std::uint32_t base = 0; base < 120'000; base += group) {
            std::uint32_t next = 0;
            for (const PacketRun run : losses.survivors(group)) {
                for (; next < run.first; ++next) all.push_back(base + next);
                next += run.packets;
            }
            for (; next < group; ++next) all.push_back(base + next);
        }
        return all;
    };
    const auto one_by_one = lost(1);
    EXPECT_GT(one_by_one.size(), 1000u);
    EXPECT_LT(one_by_one.size(), 1400u);
    EXPECT_EQ(lost(40), one_by_one);
    EXPECT_EQ(lost(40'000), one_by_one);
}

TEST(SwitchLosses, AreNoneWithoutAProbability) {
    Losses none(0, 1);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(none.survivors(45), (std::vector<PacketRun>{{0, 45}}));
}

TEST(SwitchIncoming, ABurstPassesAtOnceAndTheRestAtTheRate) {
    Incoming link({8e9});  // a byte per ns
    const std::int64_t start = 1'000'000'000;
    EXPECT_EQ(link.arrival(start, 64 * 1024, 0), start);
    EXPECT_EQ(link.arrival(start, 64 * 1024, 0), start);
    EXPECT_EQ(link.arrival(start, 5000, 0), start + 5000);
    EXPECT_EQ(link.arrival(start, 5000, 0), start + 10'000);
    EXPECT_EQ(link.arrival(start + 10'000 + 128 * 1024, 64 * 1024, 0), start + 10'000 + 128 * 1024)
        << "a rest fills the bucket";
}

TEST(SwitchIncoming, ASmallerBurstIsUsedUpSooner) {
    Incoming link({8e9, 16 * 1024});
    const std::int64_t start = 1'000'000'000;
    EXPECT_EQ(link.arrival(start, 16 * 1024, 0), start);
    EXPECT_EQ(link.arrival(start, 5000, 0), start + 5000);
    EXPECT_EQ(link.arrival(start + 1'000'000, 20 * 1024, 0), start + 1'000'000 + 4 * 1024)
        << "however long the pause";
}

TEST(SwitchIncoming, AFullQueueTakesNoMore) {
    Incoming link({1e9});  // 8 ns a byte
    const std::int64_t start = 1'000'000'000;
    std::uint64_t taken = 0;
    while (link.arrival(start, 1500, 0) && taken < 100'000'000) taken += 1500;
    EXPECT_NEAR(static_cast<double>(taken), 0.05 * 1e9 / 8 + 2 * 128 * 1024, 3000);
    EXPECT_TRUE(link.arrival(start + 100'000, 1500, 0)) << "room again";
}

TEST(SwitchIncoming, WithoutARatePacketsOnlyTravel) {
    Incoming link({});
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(link.arrival(7, 65'536, 500), 507);
}

TEST(SwitchIncoming, PacketsDoNotOvertake) {
    Incoming link({});
    EXPECT_EQ(link.arrival(0, 100, 900), 900);
    EXPECT_EQ(link.arrival(10, 100, 0), 900);
    EXPECT_EQ(link.arrival(1000, 100, 0), 1000);
}

TEST(SwitchWakeUp, FollowsTheMedianWithinBounds) {
    WakeUp wake_up;
    for (int i = 0; i < 300; ++i) wake_up.note(i % 10 == 0 ? 5'000'000 : 70'000);
    EXPECT_NEAR(static_cast<double>(wake_up.ns()), 70'000, 10'000);
    for (int i = 0; i < 300; ++i) wake_up.note(5'000'000);
    EXPECT_LE(wake_up.ns(), WakeUp::max_ns);
    for (int i = 0; i < 300; ++i) wake_up.note(0);
    EXPECT_EQ(wake_up.ns(), 0);
}

SwitchReport some_report() {
    return {.is_complete = true,
            .delay_ns = 1'000'000,
            .bias_ns = 43'000,
            .late_max_ns = 310'000,
            .cpu_ns = 500'000'000,
            .elapsed_ns = 5'000'000'000,
            .bytes = 1'000'000'000,
            .congestion = "cubic",
            .core = 1};
}

TEST(SwitchReport, SaysWhatTheRunWas) {
    const SwitchReport report = some_report();
    EXPECT_TRUE(report.is_as_asked());
    EXPECT_EQ(
        report_text(report),
        "weft run: links with delay: bias 43 us, subtracted; latest packet 310 us late; "
        "congestion control cubic; the switch took 0.50 s of CPU time for 1.000 GB (0.50 s per "
        "GB), 10 % of core 1\n");
    EXPECT_EQ(report_json(report),
              "{\"kind\":\"switch\",\"bias_us\":43.0,\"late_max_us\":310.0,\"cpu_s\":0.5000,"
              "\"bytes\":1000000000,\"congestion\":\"cubic\"}\n");
}

TEST(SwitchReport, OffersALowerRateWhenTheSwitchTakesMuchOfItsCore) {
    SwitchReport report = some_report();
    EXPECT_EQ(report_text(report).find("--rate"), std::string::npos);
    report.cpu_ns = 1'100'000'000;
    EXPECT_NE(report_text(report).find("more than 20 % of core 1 from the program; with a lower "
                                       "rate it takes less: --rate 100mbit\n"),
              std::string::npos);
}

TEST(SwitchReport, APacketThatIsTooLateIsAFailure) {
    SwitchReport report = some_report();
    report.late_max_ns = 20'100'000;
    EXPECT_FALSE(report.is_as_asked());
    EXPECT_NE(report_text(report).find("a packet came 20.1 ms after its time, more than 20.0 ms"),
              std::string::npos);
    report.delay_ns = 500'000'000;  // a tenth of it is allowed
    EXPECT_TRUE(report.is_as_asked());
    report.late_max_ns = 50'100'000;
    EXPECT_FALSE(report.is_as_asked());
    report.is_complete = false;
    EXPECT_FALSE(report.is_as_asked());
    EXPECT_NE(report_text(report).find("has ended before the job"), std::string::npos);
}

TEST(SwitchAmounts, HaveUnits) {
    EXPECT_EQ(nanoseconds("1ms"), 1'000'000);
    EXPECT_EQ(nanoseconds("0.5us"), 500);
    EXPECT_EQ(nanoseconds("2.5s"), 2'500'000'000);
    EXPECT_EQ(nanoseconds("0ms"), 0);
    EXPECT_DOUBLE_EQ(share("0.1%").value(), 0.001);
    for (const char* text : {"", "1", "ms", ".5ms", "5.ms", "1.2.3ms", "-1ms", "1 ms", "1e3ms",
                             "1m", "infs", "nans", "0x1s", "1ms "}) {
        EXPECT_FALSE(nanoseconds(text)) << text;
    }
    for (const char* text : {"", "1", "0.01", "%", "-1%", "1%%"}) EXPECT_FALSE(share(text)) << text;
}

}  // namespace weft::test::switch_test
