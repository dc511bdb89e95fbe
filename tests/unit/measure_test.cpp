// How schedules are measured, on schedules small enough to count by hand.
#include "lab/measure.h"
#include "schedule/builder.h"
#include "support/test.h"

namespace weft::measure_test {

constexpr Region bytes8 = {Buffer::recv, 0, 8};

Measures measured(const std::vector<Schedule>& schedules, int ports = 1) {
    Result<Measures> measures = measure(schedules, ports);
    EXPECT_TRUE(measures.is_ok()) << last_detail();
    return *measures;
}

// Rank 0 sends to each of the others.
std::vector<Schedule> star(Rank ranks) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < ranks; ++r) {
        ScheduleBuilder builder(r, ranks);
        if (r > 0) builder.recv(bytes8, 0);
        for (Rank peer = 1; r == 0 && peer < ranks; ++peer) builder.send(bytes8, peer);
        schedules.push_back(*builder.seal());
    }
    return schedules;
}

TEST(Measure, PortsBoundTheMessagesOfAUnit) {
    EXPECT_EQ(measured(star(7), 1).rounds, 6);
    EXPECT_EQ(measured(star(7), 2).rounds, 3);
    EXPECT_EQ(measured(star(7), 4).rounds, 2);
    Measures m = measured(star(7));
    EXPECT_EQ(m.depth, 1);
    EXPECT_EQ(m.messages, 6);
    EXPECT_EQ(m.messages_max, 6);
    EXPECT_EQ(m.sent_bytes, 48);
    EXPECT_EQ(m.sent_bytes_max, 48);
}

TEST(Measure, LocalOperationsTakeNoTime) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 2; ++r) {
        ScheduleBuilder builder(r, 2);
        OpId last = builder.start();
        for (int i = 0; i < 5; ++i) last = builder.copy(bytes8, {Buffer::recv, 8, 8}, {last});
        if (r == 0) builder.send(bytes8, 1, {last});
        if (r == 1) builder.recv(bytes8, 0, {last});
        schedules.push_back(*builder.seal());
    }
    EXPECT_EQ(measured(schedules).rounds, 1);
}

TEST(Measure, MessagesThatAreReadyGoInScheduleOrder) {
    // Rank 0 sends to 1 before 2; rank 2 has another message to send when it has been told.
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 4; ++r) {
        ScheduleBuilder builder(r, 4);
        if (r == 0) {
            builder.send(bytes8, 1);
            builder.send(bytes8, 2);
        } else if (r == 2) {
            OpId told = builder.recv(bytes8, 0);
            builder.send(bytes8, 3, {told});
        } else {
            builder.recv(bytes8, r == 1 ? 0 : 2);
        }
        schedules.push_back(*builder.seal());
    }
    EXPECT_EQ(measured(schedules).rounds, 3);
    EXPECT_EQ(measured(schedules).depth, 2);
}

// Ranks 0 -> 1 -> 2 in `blocks` blocks of 8 bytes, the last of 4.
std::vector<Schedule> relay(std::int64_t blocks, std::uint32_t window) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 3; ++r) {
        ScheduleBuilder builder(r, 3);
        builder.repeat_begin({.total_bytes = 8 * blocks - 4, .block_bytes = 8, .window = window});
        OpId ready = r > 0 ? builder.recv(bytes8, r - 1) : builder.start();
        if (r < 2) builder.send(bytes8, r + 1, {ready});
        builder.repeat_end();
        schedules.push_back(*builder.seal());
    }
    return schedules;
}

TEST(Measure, WindowsHoldBackIterations) {
    EXPECT_EQ(measured(relay(1, 1)).rounds, 2);
    EXPECT_EQ(measured(relay(10, 1)).rounds, 20);
    EXPECT_EQ(measured(relay(10, 2)).rounds, 11);
    EXPECT_EQ(measured(relay(10, 8)).rounds, 11);
    EXPECT_EQ(measured(relay(10, 8)).sent_bytes_max, 76);
    EXPECT_EQ(measured(relay(10, 8)).messages, 20);
}

TEST(Measure, DeadlocksAreRefused) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 2; ++r) {
        ScheduleBuilder builder(r, 2);
        OpId sent = builder.send(bytes8, 1 - r);
        builder.recv({Buffer::recv, 8, 8}, 1 - r, {sent});
        schedules.push_back(*builder.seal());
    }
    EXPECT_FALSE(measure(schedules).is_ok());
    EXPECT_STREQ(last_detail(), "deadlock: rank 0 waits in operation 0");
}

TEST(Measure, DifferentSizesAreRefused) {
    std::vector<Schedule> schedules;
    ScheduleBuilder sender(0, 2);
    sender.send({Buffer::recv, 0, 4}, 1);
    schedules.push_back(*sender.seal());
    ScheduleBuilder receiver(1, 2);
    receiver.recv(bytes8, 0);
    schedules.push_back(*receiver.seal());
    EXPECT_FALSE(measure(schedules).is_ok());
    EXPECT_STREQ(last_detail(),
                 "rank 0 sends 4 bytes (operation 0) where rank 1 expects 8 (operation 0)");
}

}  // namespace weft::measure_test
