// LogGOPSim's machine. The times of PingPong to AnEmptyMessage... are LogGOPSim's own; those behind them
// follow from its rules.
#include "simulate/lgs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "simulate/waiters.h"
#include "support/process.h"

namespace weft::simulate {
namespace {

using test::contains;
using Times = std::vector<std::uint64_t>;

constexpr LgsParameters slow_bytes{2500, 1500, 1000, 6, 0, 65535};
constexpr LgsParameters large_gap{5000, 1000, 3000, 2, 0, 65535};
constexpr LgsParameters cpu_per_byte{1400, 200, 600, 3, 1, 65535};

std::string number(std::int64_t value) { return std::to_string(value); }

// `body` writes a rank's statements.
std::string text_of(int ranks, const std::function<std::string(int)>& body) {
    std::string text = "num_ranks " + number(ranks) + "\n";
    for (int r = 0; r < ranks; ++r) text += "rank " + number(r) + " {\n" + body(r) + "}\n";
    return text;
}

std::string ping_pong(std::int64_t bytes) {
    const std::string size = number(bytes) + "b ";
    return text_of(2, [&](int rank) {
        return rank == 0 ? "s: send " + size + "to 1 tag 1\nr: recv " + size + "from 1 tag 2\n"
                         : "r: recv " + size + "from 0 tag 1\ns: send " + size +
                               "to 0 tag 2\ns requires r\n";
    });
}

std::string broadcast(int ranks, std::int64_t bytes) {
    return text_of(ranks, [&](int rank) {
        std::string body;
        int above = 1;
        for (; above <= rank; above *= 2) {
        }
        if (rank > 0)
            body = "r: recv " + number(bytes) + "b from " + number(rank - above / 2) + "\n";
        for (int bit = above; rank + bit < ranks; bit *= 2) {
            const std::string label = "s" + number(bit);
            body += label + ": send " + number(bytes) + "b to " + number(rank + bit) + "\n";
            if (rank > 0) body += label + " requires r\n";
        }
        return body;
    });
}

std::string dissemination(int ranks, std::int64_t bytes) {
    return text_of(ranks, [&](int rank) {
        std::string body;
        for (int round = 0; 1 << round < ranks; ++round) {
            const std::string k = number(round);
            const int distance = 1 << round;
            body += "s" + k + ": send " + number(bytes) + "b to " +
                    number((rank + distance) % ranks) + " tag " + k + "\nr" + k + ": recv " +
                    number(bytes) + "b from " + number((rank - distance + ranks) % ranks) +
                    " tag " + k + "\n";
            for (const std::string now : {"s", "r"}) {
                for (const std::string before : {"s", "r"}) {
                    if (round > 0)
                        body += now + k + " requires " + before + number(round - 1) + "\n";
                }
            }
        }
        return body;
    });
}

std::string ring(int ranks, std::int64_t bytes) {
    return text_of(ranks, [&](int rank) {
        std::string body;
        for (int step = 0; step < ranks - 1; ++step) {
            const std::string k = number(step);
            body += "s" + k + ": send " + number(bytes) + "b to " + number((rank + 1) % ranks) +
                    " tag " + k + "\n";
            if (step > 0) body += "s" + k + " requires r" + number(step - 1) + "\n";
            body += "r" + k + ": recv " + number(bytes) + "b from " +
                    number((rank + ranks - 1) % ranks) + " tag " + k + "\n";
        }
        return body;
    });
}

// With a calculation of 500 ns after every exchange.
std::string recursive_doubling(int ranks, std::int64_t bytes) {
    return text_of(ranks, [&](int rank) {
        std::string body;
        for (int round = 0; 1 << round < ranks; ++round) {
            const std::string k = number(round);
            const std::string peer = number(rank ^ (1 << round));
            body += "s" + k + ": send " + number(bytes) + "b to " + peer + " tag " + k + "\n" +
                    "r" + k + ": recv " + number(bytes) + "b from " + peer + " tag " + k + "\n" +
                    "c" + k + ": calc 500\nc" + k + " requires r" + k + "\nc" + k + " requires s" +
                    k + "\n";
            if (round > 0) body += "s" + k + " requires c" + number(round - 1) + "\n";
        }
        return body;
    });
}

std::string incast(int ranks, std::int64_t bytes) {
    return text_of(ranks, [&](int rank) {
        if (rank > 0) return "send " + number(bytes) + "b to 0\n";
        std::string body;
        for (int r = 1; r < ranks; ++r)
            body += "recv " + number(bytes) + "b from " + number(r) + "\n";
        return body;
    });
}

std::string late_receive() {
    return text_of(2, [&](int rank) -> std::string {
        return rank == 0 ? "send 1024b to 1 tag 7\n"
                         : "c: calc 100000\nr: recv 1024b from 0 tag 7\nr requires c\n"
                           "d: calc 10\nd requires r\n";
    });
}

void expect(const std::string& text, const LgsParameters& parameters, std::uint64_t events,
            const Times& times) {
    const Result<GoalProgram> program = read_goal(text);
    ASSERT_TRUE(program.is_ok()) << last_detail() << "\n" << text;
    const Result<LgsOutcome> outcome = simulate_lgs(*program, parameters);
    ASSERT_TRUE(outcome.is_ok()) << last_detail() << "\n" << text;
    EXPECT_EQ((*outcome).events, events) << text;
    EXPECT_EQ((*outcome).end, times) << text;
}

std::string refusal(const std::string& text) {
    const Result<GoalProgram> program = read_goal(text);
    EXPECT_TRUE(program.is_ok()) << last_detail();
    return simulate_lgs(*program, {}).is_ok() ? "" : last_detail();
}

TEST(Lgs, PingPong) {
    expect(ping_pong(1), slow_bytes, 6, {11000, 7000});
    expect(ping_pong(1), large_gap, 6, {14000, 8000});
    expect(ping_pong(1), cpu_per_byte, 6, {3600, 2000});
    expect(ping_pong(4096), slow_bytes, 6, {60140, 31570});
    expect(ping_pong(4096), cpu_per_byte, 6, {28170, 18380});
}

TEST(Lgs, LargeMessagesWaitForTheirReceive) {
    expect(ping_pong(100000), slow_bytes, 6, {1210988, 609494});
    expect(ping_pong(100000), cpu_per_byte, 6, {603594, 401996});
    expect(broadcast(8, 100000), slow_bytes, 21,
           {1205988, 1210488, 1210488, 1214988, 1807482, 1811982, 1811982, 1816482});
    expect(broadcast(8, 100000), large_gap, 21,
           {411996, 415996, 415996, 419996, 612994, 616994, 616994, 620994});
}

TEST(Lgs, Broadcast) {
    expect(broadcast(8, 1), slow_bytes, 21, {4500, 8500, 8500, 12500, 8500, 12500, 12500, 16500});
    expect(broadcast(8, 1), large_gap, 21, {7000, 11000, 11000, 15000, 13000, 17000, 17000, 21000});
    expect(broadcast(8, 1), cpu_per_byte, 21, {1400, 2600, 2600, 3800, 3000, 4200, 4200, 5400});
}

TEST(Lgs, Exchanges) {
    expect(dissemination(16, 1), slow_bytes, 192, Times(16, 22000));
    expect(dissemination(16, 1), large_gap, 192, Times(16, 28000));
    expect(ring(8, 1), slow_bytes, 168, Times(8, 38500));
    expect(ring(8, 1), cpu_per_byte, 168, Times(8, 12600));
    expect(recursive_doubling(8, 1024), slow_bytes, 96, Times(8, 36414));
    expect(recursive_doubling(8, 1024), large_gap, 96, Times(8, 28638));
    expect(recursive_doubling(8, 1024), cpu_per_byte, 96, Times(8, 16107));
}

TEST(Lgs, ManyToOne) {
    Times ends(8, 1500);
    ends[0] = 57466;
    expect(incast(8, 1024), slow_bytes, 21, ends);
    ends.assign(8, 1223);
    ends[0] = 26883;
    expect(incast(8, 1024), cpu_per_byte, 21, ends);
}

TEST(Lgs, AMessageCostsItsReceiverTheSameBeforeTheReceive) {
    expect(late_receive(), slow_bytes, 5, {1500, 107648});
    expect(late_receive(), large_gap, 5, {1000, 103056});
}

// (0 - 1) G is subtracted.
TEST(Lgs, AnEmptyMessageTakesLessThanOneByte) {
    expect(text_of(2, [](int rank) { return rank == 0 ? "send 0b to 1\n" : "recv 0b from 0\n"; }),
           slow_bytes, 3, {1500, 5494});
}

// By the rules: what was freed by CPU 0 begins on CPU 1 when that is free, at 0.
TEST(Lgs, AnotherCpuDoesNotWait) {
    expect(text_of(2,
                   [](int rank) {
                       return rank == 0 ? "send 1b to 1\n"
                                        : "r: recv 1b from 0\nc: calc 700 cpu 1\nc requires r\n";
                   }),
           slow_bytes, 4, {1500, 5500});
}

// Each is looked at when it is freed, when it waits and when it happens, however many wait.
TEST(Lgs, ManyOperationsThatWaitForOneCpu) {
    constexpr int ops = 100'000;
    std::string body;
    for (int i = 0; i < ops; ++i) body += "calc 10\n";
    const Result<GoalProgram> program = read_goal(text_of(1, [&](int) { return body; }));
    ASSERT_TRUE(program.is_ok()) << last_detail();
    const Result<LgsOutcome> outcome = simulate_lgs(*program, slow_bytes);
    ASSERT_TRUE(outcome.is_ok()) << last_detail();
    EXPECT_EQ((*outcome).events, std::uint64_t{ops});
    EXPECT_LE((*outcome).steps, std::uint64_t{4 * ops});
    EXPECT_EQ((*outcome).end, Times{10 * ops});
}

// Sends of two NICs, messages and calculations, all of one CPU.
TEST(Lgs, ManyOperationsThatWaitForDifferentThings) {
    constexpr int sends = 20'000;
    const std::string text = text_of(2, [&](int rank) {
        std::string body;
        for (int i = 0; i < sends; ++i) {
            const std::string nic = " nic " + number(i % 2) + "\n";
            body += "send 8b to " + number(1 - rank) + nic + "recv 8b from " + number(1 - rank) +
                    "\ncalc 7\n";
        }
        return body;
    });
    const Result<GoalProgram> program = read_goal(text);
    ASSERT_TRUE(program.is_ok()) << last_detail();
    const Result<LgsOutcome> outcome = simulate_lgs(*program, cpu_per_byte);
    ASSERT_TRUE(outcome.is_ok()) << last_detail();
    EXPECT_EQ((*outcome).events, std::uint64_t{2 * 4 * sends});
    EXPECT_LE((*outcome).steps, 8 * (*outcome).events);
    EXPECT_EQ((*outcome).end[0], (*outcome).end[1]);
}

// An empty message then frees its resources before it began; what waits has been put off all the same.
TEST(Lgs, TimesThatGoBack) {
    const LgsParameters p{100, 5, 5, 30, 0, 65535};
    const std::string text = text_of(2, [](int rank) -> std::string {
        if (rank == 0) return "send 4b to 1\nsend 0b to 1\nsend 4b to 1\n";
        return "recv 4b from 0\nrecv 0b from 0\nrecv 4b from 0\n";
    });
    expect(text, p, 9, {105, 300});
}

TEST(Lgs, RefusesTimesAbove64Bits) {
    const std::string text = text_of(2, [](int rank) {
        return rank == 0 ? "send 4000000000b to 1\n" : "recv 4000000000b from 0\n";
    });
    const Result<GoalProgram> program = read_goal(text);
    ASSERT_TRUE(program.is_ok()) << last_detail();
    LgsParameters p = slow_bytes;
    p.S = ~std::uint64_t{0};
    p.G = 1'000'000;
    EXPECT_TRUE(simulate_lgs(*program, p).is_ok()) << last_detail();
    p.G = 2'000'000'000;
    EXPECT_FALSE(simulate_lgs(*program, p).is_ok());
    EXPECT_TRUE(contains(last_detail(), "take more than 2^63 ns")) << last_detail();
}

TEST(Lgs, WildcardsTakeTheOldest) {
    // Rank 2 sends first; both receives of rank 0 take any message.
    const std::string text = text_of(3, [](int rank) -> std::string {
        if (rank == 0) return "a: recv 8b from -1 tag -1\nb: recv 8b from -1 tag 5\n";
        if (rank == 1) return "c: calc 9000\ns: send 8b to 0 tag 5\ns requires c\n";
        return "send 8b to 0 tag -1\n";
    });
    expect(text, slow_bytes, 7, {14542, 10500, 1500});
}

// Matches among many that wait are those of a plain search, with wildcards on either side and without.
TEST(Waiters, TakeTheOldestThatFits) {
    for (const std::uint64_t one_wild_in : {3, 40, 1'000'000}) {
        for (const std::uint64_t adds_of_10 : {5, 6, 9}) {
            Prng random(one_wild_in * 10 + adds_of_10);
            Waiters waiters;
            std::vector<Waiter> plain;
            for (std::uint32_t i = 0; i < 5000; ++i) {
                const Rank peer =
                    random.one_in(one_wild_in) ? any_source : static_cast<Rank>(random.below(6));
                const std::uint32_t tag = random.one_in(one_wild_in)
                                              ? any_tag
                                              : static_cast<std::uint32_t>(random.below(6));
                if (random.below(10) < adds_of_10) {
                    waiters.add({peer, tag, i});
                    plain.push_back({peer, tag, i});
                    continue;
                }
                const auto fits = [&](const Waiter& one) {
                    return (peer == any_source || one.peer == any_source || one.peer == peer) &&
                           (tag == any_tag || one.tag == any_tag || one.tag == tag);
                };
                const auto expected = std::ranges::find_if(plain, fits);
                const std::optional<Waiter> taken = waiters.take(peer, tag);
                ASSERT_EQ(taken.has_value(), expected != plain.end()) << i;
                if (!taken) continue;
                ASSERT_EQ(taken->op, expected->op) << i;
                plain.erase(expected);
                ASSERT_EQ(waiters.is_empty(), plain.empty());
                if (!plain.empty()) {
                    ASSERT_EQ(waiters.oldest().op, plain.front().op);
                }
            }
        }
    }
}

// Receives are posted in the opposite order of the messages: a search would look at all of them each time.
TEST(Lgs, ManyReceivesThatWait) {
    constexpr int many = 100'000;
    const std::string text = text_of(2, [](int rank) {
        std::string body;
        for (int i = 0; i < many; ++i) {
            if (rank == 0) body += "send 1b to 1 tag " + number(i) + "\n";
            if (rank == 1) body += "recv 1b from 0 tag " + number(many - 1 - i) + "\n";
        }
        return body;
    });
    const Result<GoalProgram> program = read_goal(text);
    ASSERT_TRUE(program.is_ok()) << last_detail();
    const Result<LgsOutcome> outcome = simulate_lgs(*program, LgsParameters{});
    ASSERT_TRUE(outcome.is_ok()) << last_detail();
    EXPECT_EQ((*outcome).events, 3u * many);
    // One after another the messages leave, and are taken.
    EXPECT_EQ((*outcome).end[1], 1500u * many + 2500 + 1500);
}

TEST(Lgs, RefusesWhatDoesNotEnd) {
    EXPECT_TRUE(contains(refusal("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n"),
                         "rank 1 has no receive for a message from rank 0 (line 3)"));
    EXPECT_TRUE(contains(refusal("num_ranks 2\nrank 0 {\n}\nrank 1 {\n\nrecv 8b from -1\n}\n"),
                         "rank 1 gets no message for its receive of line 6"));
    EXPECT_TRUE(contains(refusal("num_ranks 1\nrank 0 {\na: calc 5\na requires a\n}\n"),
                         "rank 0 never starts its operation of line 3"));
    // Each waits for the other's large message to be received.
    const std::string text = text_of(2, [](int rank) {
        const std::string peer = number(1 - rank);
        return "s: send 70000b to " + peer + "\nr: recv 70000b from " + peer + "\nr requires s\n";
    });
    EXPECT_TRUE(contains(refusal(text), "rank 0 has no receive for a message from rank 1"));
}

}  // namespace
}  // namespace weft::simulate
