// The transport wrappers over the simulated network: recording, faulty, checking.
#include "lab/sim/sim.h"
#include "lab/wrap/checking.h"
#include "lab/wrap/faulty.h"
#include "lab/wrap/recording.h"
#include "support/test.h"

namespace weft::sim_wrap_test {

constexpr SimOptions plain{.buffering = Buffering::never, .done_at_once = false};

Lane lane(Rank peer, std::uint32_t stream = 0, std::uint64_t context = 0) {
    return {peer, {context, stream}};
}

template <class T>
Bytes bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

template <class T>
MutBytes place_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

std::vector<Completion> poll_all(Transport& transport) {
    std::vector<Completion> all;
    std::array<Completion, 4> done;
    while (std::size_t reported = transport.poll(done)) {
        all.insert(all.end(), done.begin(), done.begin() + static_cast<std::ptrdiff_t>(reported));
    }
    return all;
}

// Two simulated ranks; rank 0 is the one that gets wrapped.
struct Pair {
    explicit Pair(std::uint64_t seed = 1, SimOptions options = plain)
        : network(2, seed, options), zero(network, 0), one(network, 1) {}

    void drain(Transport& wrapped, std::vector<Completion>& reported) {
        bool moves = true;
        for (int idle = 0; idle < 50; idle = moves ? 0 : idle + 1) {
            moves = network.advance();
            std::vector<Completion> more = poll_all(wrapped);
            moves |= !more.empty();
            reported.insert(reported.end(), more.begin(), more.end());
            poll_all(one);
        }
    }

    SimNetwork network;
    SimTransport zero;
    SimTransport one;
    int run = 0;  // something for tokens to point to
};

// --- Recording -----------------------------------------------------------------------------------

TEST(RecordingTransport, WritesDownPostsAndCompletions) {
    Pair pair;
    RecordingTransport recording(pair.zero);
    int sent = 1;
    int received = 0;
    std::vector<Completion> reported;
    recording.post_send(lane(1, 2), bytes_of(sent), {&pair.run, 7});
    pair.one.post_recv(lane(0, 2), place_of(received), {&pair.run, 0});
    pair.drain(recording, reported);
    recording.post_recv(lane(1), place_of(received), {&pair.run, 8});
    recording.cancel_context(0);
    pair.network.kill(1);
    pair.drain(recording, reported);
    EXPECT_EQ(recording.text(),
              "send 4 bytes to 1 (context 0, stream 2) op 7: pending\n"
              "completed op 7: WEFT_OK\n"
              "recv 4 bytes from 1 (context 0, stream 0) op 8: pending\n"
              "abandon context 0\n"
              "lost 1\n");
    EXPECT_EQ(recording.records().size(), 5u);
}

// --- Faulty --------------------------------------------------------------------------------------

TEST(FaultyTransport, BusyAndHeldBackStillArriveInOrder) {
    bool was_busy = false;
    bool was_held = false;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Pair pair(seed);
        FaultyTransport faulty(pair.zero, seed, {.busy_one_in = 3, .hold_one_in = 2});
        std::array<int, 20> sent;
        std::array<int, 20> received{};
        for (std::size_t i = 0; i < sent.size(); ++i) {
            sent[i] = static_cast<int>(100 + i);
            ASSERT_EQ(pair.one.post_send(lane(0), bytes_of(sent[i]), {&pair.run, 0}),
                      Posted::pending);
            Token token{&pair.run, static_cast<std::uint32_t>(i)};
            while (faulty.post_recv(lane(1), place_of(received[i]), token) == Posted::busy) {
                was_busy = true;
                EXPECT_TRUE(faulty.will_move());
            }
        }
        std::vector<Completion> reported;
        while (pair.network.advance()) poll_all(pair.one);
        while (reported.size() < sent.size()) {
            for (const Completion& completion : poll_all(faulty)) reported.push_back(completion);
            if (reported.size() == sent.size()) break;
            was_held = true;
            ASSERT_TRUE(faulty.will_move());
        }
        EXPECT_EQ(received, sent);
        for (std::uint32_t i = 0; i < reported.size(); ++i) EXPECT_EQ(reported[i].token.op, i);
    }
    EXPECT_TRUE(was_busy);
    EXPECT_TRUE(was_held);
}

class FaultyTransportLoss : public ::testing::TestWithParam<weft_status> {};
INSTANTIATE_TEST_SUITE_P(Code, FaultyTransportLoss,
                         ::testing::Values(WEFT_BROKEN_RANK, WEFT_BROKEN_TRANSPORT),
                         [](const auto& code) { return weft_status_name(code.param); });

TEST_P(FaultyTransportLoss, IsReportedAtAPost) {
    Pair pair;
    FaultyTransport faulty(pair.zero, 3,
                           {.lose_at_post = 3, .lost_peer = 1, .lost_code = GetParam()});
    std::array<int, 3> received{};
    int sent = 9;
    std::vector<Completion> reported;
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(faulty.post_recv(lane(1), place_of(received[i]), {&pair.run, i}),
                  Posted::pending);
    }
    // What the peer sends from now on reaches nobody.
    pair.one.post_send(lane(0), bytes_of(sent), {&pair.run, 0});
    pair.drain(faulty, reported);
    ASSERT_EQ(reported.size(), 4u);
    EXPECT_EQ(
        std::ranges::count(reported, nullptr, [](const Completion& c) { return c.token.run; }), 1);
    for (const Completion& completion : reported) {
        EXPECT_EQ(completion.code, GetParam());
        EXPECT_EQ(completion.peer, 1);
    }
    EXPECT_EQ(received, (std::array<int, 3>{}));
}

// --- Checking ------------------------------------------------------------------------------------

CheckingTransport checking_over(Transport& inner) {
    return {inner, {0, 2}, CheckingTransport::OnViolation::collect};
}

bool complains(const CheckingTransport& checking, const std::string& of) {
    return checking.violations().size() == 1 &&
           checking.violations()[0].find(of) != std::string::npos;
}

TEST(CheckingTransport, IsContentWithTheContractKept) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Pair pair(seed, {});
        CheckingTransport checking = checking_over(pair.zero);
        std::array<int, 20> values{};
        int sent = 3;
        for (std::uint32_t i = 0; i < values.size(); ++i) {
            checking.post_recv(lane(1, i % 3), place_of(values[i]), {&pair.run, i});
            pair.one.post_send(lane(0, i % 3), bytes_of(sent), {&pair.run, i});
        }
        std::vector<Completion> reported;
        pair.drain(checking, reported);
        EXPECT_TRUE(std::ranges::all_of(values, [](int v) { return v == 3; }));
        EXPECT_EQ(checking.pending(), 0u);
        EXPECT_TRUE(checking.violations().empty());
    }
}

TEST(CheckingTransport, SeesBadPosts) {
    struct Case {
        Rank peer;
        bool has_token;
        const char* complaint;
    };
    for (Case c : {Case{0, true, "names the rank itself"}, Case{2, true, "names no rank"},
                   Case{-1, true, "names no rank"}, Case{1, false, "has no token"}}) {
        Pair pair;
        CheckingTransport checking = checking_over(pair.zero);
        int value = 0;
        checking.post_send(lane(c.peer), bytes_of(value), {c.has_token ? &pair.run : nullptr, 0});
        EXPECT_TRUE(complains(checking, c.complaint));
    }
    Pair pair;
    CheckingTransport checking = checking_over(pair.zero);
    checking.cancel_context(5);
    int value = 0;
    checking.post_recv(lane(1, 0, 5), place_of(value), {&pair.run, 0});
    EXPECT_TRUE(complains(checking, "belongs to an abandoned context"));
}

TEST(CheckingTransport, SeesALentBufferChange) {
    Pair pair;
    CheckingTransport checking = checking_over(pair.zero);
    int sent = 1;
    int received = 0;
    checking.post_send(lane(1), bytes_of(sent), {&pair.run, 0});
    sent = 2;
    pair.one.post_recv(lane(0), place_of(received), {&pair.run, 0});
    std::vector<Completion> reported;
    pair.drain(checking, reported);
    EXPECT_TRUE(complains(checking, "changed while it was lent"));
}

// A transport that does what a test tells it to.
struct Rogue final : Transport {
    const char* name() const override { return "rogue"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane&, Bytes, Token token) override {
        tokens.push_back(token);
        return Posted::pending;
    }
    Posted post_recv(const Lane&, MutBytes data, Token token) override {
        tokens.push_back(token);
        into = data;
        return Posted::pending;
    }
    std::size_t poll(std::span<Completion> done) override {
        std::size_t reported = std::min(done.size(), to_report.size());
        std::copy_n(to_report.begin(), reported, done.begin());
        to_report.clear();
        return reported;
    }
    void cancel_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }

    std::vector<Token> tokens;
    std::vector<Completion> to_report;
    MutBytes into;
};

TEST(CheckingTransport, SeesBadTransports) {
    struct Case {
        const char* complaint;
        std::function<void(Rogue&, CheckingTransport&)> act;
    };
    auto ok_of = [](Token token) { return Completion{token}; };
    const Case cases[] = {
        {"completed twice",
         [&](Rogue& rogue, CheckingTransport& checking) {
             rogue.to_report = {ok_of(rogue.tokens[0])};
             poll_all(checking);
             rogue.to_report = {ok_of(rogue.tokens[0])};
         }},
        {"a token that nobody posted",
         [&](Rogue& rogue, CheckingTransport&) {
             rogue.to_report = {ok_of({&rogue, 0})};
         }},
        {"before an earlier one of its lane",
         [&](Rogue& rogue, CheckingTransport&) { rogue.to_report = {ok_of(rogue.tokens[1])}; }},
        {"or after its context was abandoned",
         [&](Rogue& rogue, CheckingTransport& checking) {
             checking.cancel_context(0);
             rogue.to_report = {ok_of(rogue.tokens[0])};
         }},
        {"bytes behind the buffer",
         [&](Rogue& rogue, CheckingTransport& checking) {
             rogue.into.data()[rogue.into.size()] = std::byte{1};
             rogue.to_report = {ok_of(rogue.tokens[0]), ok_of(rogue.tokens[1])};
             poll_all(checking);
         }},
        {"bytes before the buffer",
         [&](Rogue& rogue, CheckingTransport& checking) {
             *(rogue.into.data() - 1) = std::byte{1};
             rogue.to_report = {ok_of(rogue.tokens[0]), ok_of(rogue.tokens[1])};
             poll_all(checking);
         }},
        {"changed after it was abandoned",
         [&](Rogue& rogue, CheckingTransport& checking) {
             checking.cancel_context(0);
             rogue.into[0] = std::byte{77};
             checking.check_abandoned();
         }},
        {"was reported lost twice",
         [&](Rogue& rogue, CheckingTransport&) {
             Completion loss{{}, WEFT_BROKEN_RANK, 1};
             rogue.to_report = {loss, loss};
         }},
        {"not another rank of the job",
         [&](Rogue& rogue, CheckingTransport&) {
             rogue.to_report = {Completion{{}, WEFT_BROKEN_TRANSPORT, 0}};
         }},
        {"a loss is reported with the code WEFT_BROKEN_MESSAGE",
         [&](Rogue& rogue, CheckingTransport&) {
             rogue.to_report = {Completion{{}, WEFT_BROKEN_MESSAGE, 1}};
         }},
        {"names rank -1",
         [&](Rogue& rogue, CheckingTransport&) {
             rogue.to_report = {Completion{rogue.tokens[0], WEFT_BROKEN_RANK, -1}};
         }},
        {"a message of 4 bytes where 4 were expected",
         [&](Rogue& rogue, CheckingTransport&) {
             rogue.to_report = {Completion{rogue.tokens[0], WEFT_BROKEN_MESSAGE, 1, 4, 4}};
         }},
    };
    for (const Case& c : cases) {
        Rogue rogue;
        CheckingTransport checking = checking_over(rogue);
        int values[2] = {};
        int run = 0;
        checking.post_recv(lane(1), place_of(values[0]), {&run, 0});
        checking.post_recv(lane(1), place_of(values[1]), {&run, 1});
        c.act(rogue, checking);
        poll_all(checking);
        EXPECT_TRUE(complains(checking, c.complaint))
            << c.complaint << ", not "
            << (checking.violations().empty() ? "nothing" : checking.violations()[0]);
    }
}

TEST(CheckingTransportDeathTest, AbortsWithASentence) {
    Pair pair;
    CheckingTransport checking(pair.zero, {0, 2});
    int value = 0;
    EXPECT_DEATH(checking.post_send(lane(0), bytes_of(value), {&pair.run, 0}),
                 "broken transport contract: rank 0 over sim: the send of 4 bytes to rank 0 "
                 ".*names the rank itself");
}

// A function that a transport may have and the wrapper forgets would be that of a transport without it.
TEST(Forwarding, PassesEveryFunctionOn) {
    const auto text_of = [](const char* path) {
        std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/" + path);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string wrapper = text_of("lab/wrap/forwarding.h");
    const std::string interface = text_of("src/transport/transport.h");
    const std::regex is_virtual("virtual [^~(;]*?(\\w+)\\(");
    int functions = 0;
    for (std::sregex_iterator i(interface.begin(), interface.end(), is_virtual), none; i != none;
         ++i, ++functions) {
        const std::string name = (*i)[1];
        const std::regex passes_on("[ *]" + name + "\\([^{};]*\\)( const)? (override|final)");
        EXPECT_TRUE(std::regex_search(wrapper, passes_on)) << name;
    }
    EXPECT_GE(functions, 25);
}

}  // namespace weft::sim_wrap_test
