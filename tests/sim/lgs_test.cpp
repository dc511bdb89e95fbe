// LogGOPSim's machine. The times of EqualsLogGopsim and AnEmptyMessage... are LogGOPSim's own;
// those behind them follow from its rules.
#include "sim/lgs.h"

#include <bit>

#include "base/random.h"
#include "sim/waiters.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::simulate::lgs_test {

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

// One rank's statements; all its messages are of one size.
struct Statements {
    std::int64_t bytes;
    std::string text;

    void send(const std::string& label, int peer, int tag) {
        text += label + ": send " + number(bytes) + "b to " + number(peer) + " tag " + number(tag) +
                "\n";
    }
    void recv(const std::string& label, int peer, int tag) {
        text += label + ": recv " + number(bytes) + "b from " + number(peer) + " tag " +
                number(tag) + "\n";
    }
    void calc(const std::string& label, int ns) { text += label + ": calc " + number(ns) + "\n"; }
    void after(const std::string& label, const std::string& earlier) {
        text += label + " requires " + earlier + "\n";
    }
};

// What rank `r` does in a pattern of LogGOPSim's programs.
void pingpong(Statements& rank, int r) {
    if (r == 0) rank.send("s", 1, 1);
    rank.recv("r", 1 - r, r == 0 ? 2 : 1);
    if (r == 0) return;
    rank.send("s", 0, 2);
    rank.after("s", "r");
}

void late_recv(Statements& rank, int r) {
    if (r == 0) return rank.send("s", 1, 7);
    rank.calc("c", 100'000);
    rank.recv("r", 0, 7);
    rank.after("r", "c");
    rank.calc("d", 10);
    rank.after("d", "r");
}

void incast(Statements& rank, int r) {
    if (r != 0) return rank.send("s", 0, 0);
    for (int from = 1; from < 8; ++from) rank.recv("r" + number(from), from, 0);
}

void binomial_bcast(Statements& rank, int r) {
    const int highest = static_cast<int>(std::bit_floor(static_cast<unsigned>(r)));
    int label = 1;
    if (r > 0) rank.recv("l" + number(label++), r - highest, 0);
    for (int bit = r == 0 ? 1 : 2 * highest; r + bit < 8; bit *= 2) {
        rank.send("l" + number(label), r + bit, 0);
        if (r > 0) rank.after("l" + number(label), "l1");
        ++label;
    }
}

void allreduce(Statements& rank, int r) {
    for (int i = 0; i < 3; ++i) {
        const std::string round = number(i);
        rank.send("s" + round, r ^ 1 << i, i);
        rank.recv("r" + round, r ^ 1 << i, i);
        rank.calc("c" + round, 500);
        rank.after("c" + round, "r" + round);
        rank.after("c" + round, "s" + round);
        if (i > 0) rank.after("s" + round, "c" + number(i - 1));
    }
}

void ring_allgather(Statements& rank, int r) {
    for (int i = 0; i < 7; ++i) {
        rank.send("s" + number(i), (r + 1) % 8, i);
        if (i > 0) rank.after("s" + number(i), "r" + number(i - 1));
        rank.recv("r" + number(i), (r + 7) % 8, i);
    }
}

void dissemination(Statements& rank, int r) {
    for (int i = 0; i < 4; ++i) {
        const auto after_round_before = [&](const std::string& label) {
            for (int one = 2 * i - 1; i > 0 && one <= 2 * i; ++one)
                rank.after(label, "l" + number(one));
        };
        const std::string sending = "l" + number(2 * i + 1);
        const std::string receiving = "l" + number(2 * i + 2);
        rank.send(sending, (r + (1 << i)) % 16, i);
        after_round_before(sending);
        rank.recv(receiving, (r + 16 - (1 << i)) % 16, i);
        after_round_before(receiving);
    }
}

struct Pattern {
    int ranks;
    std::int64_t bytes;
    void (*statements)(Statements& rank, int r);
};

const std::map<std::string, Pattern> patterns = {
    {"pingpong_1b", {2, 1, pingpong}},
    {"pingpong_4k", {2, 4096, pingpong}},
    {"pingpong_100k", {2, 100'000, pingpong}},
    {"late_recv_1k", {2, 1024, late_recv}},
    {"incast8_1k", {8, 1024, incast}},
    {"bcast8_1b", {8, 1, binomial_bcast}},
    {"bcast8_100k", {8, 100'000, binomial_bcast}},
    {"allred8_1k", {8, 1024, allreduce}},
    {"ringag8_1b", {8, 1, ring_allgather}},
    {"dissem16_1b", {16, 1, dissemination}},
};

// `tests/sim/lgs_results.txt`: LogGOPSim's number of events and times for each pattern, in lines
// such as
//   pingpong_1b [-L 2500 -o 1500 -g 1000 -G 6 -O 0 -S 65535] LogGOPSim events=6 times: 11000 7000
TEST(Lgs, EqualsLogGopsim) {
    std::istringstream lines(test::content(WEFT_SOURCE_DIR "/tests/sim/lgs_results.txt"));
    int compared = 0;
    for (std::string line; std::getline(lines, line); ++compared) {
        SCOPED_TRACE(line);
        std::istringstream words(line);
        std::string name;
        words >> name;
        LgsParameters p;
        for (std::uint64_t* const value : {&p.L, &p.o, &p.g, &p.G, &p.O, &p.S}) {
            std::string option;
            words >> option >> *value;
        }
        std::uint64_t events = 0;
        words.ignore(100, '=') >> events;
        words.ignore(100, ':');
        const Times times{std::istream_iterator<std::uint64_t>(words), {}};
        const Pattern& pattern = patterns.at(name);
        ASSERT_EQ(times.size(), static_cast<std::size_t>(pattern.ranks));
        const std::string text = text_of(pattern.ranks, [&](int r) {
            Statements rank{pattern.bytes, ""};
            pattern.statements(rank, r);
            return rank.text;
        });
        expect(text, p, events, times);
    }
    EXPECT_EQ(compared, 30);
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

// An empty message then frees its resources before it began; what waits has been put off all the
// same.
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

// Matches among many that wait are those of a plain search, with wildcards on either side and
// without.
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

// Receives are posted in the opposite order of the messages: a search would look at all of them
// each time.
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

}  // namespace weft::simulate::lgs_test
