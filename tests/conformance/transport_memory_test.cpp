// A transport that runs out of memory at any single allocation: a post throws, and then nothing has
// happened; a poll reports the message that it had to lose; and whatever has nothing to do with that goes
// on.
#include "base/clock.h"
#include "conformance/transport_worlds.h"
#include "support/failing_new.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::transport_memory_test {

int anything;  // tokens need an address

constexpr std::uint64_t context = 7;
constexpr std::uint64_t other_context = 8;
constexpr std::int64_t patience_ns = 20'000'000'000;

// Messages both ways between two ranks on many lanes of a context: small and large, expected and not.
// All it needs is there before memory fails.
class Exchange {
  public:
    Exchange(TransportWorld& world, std::uint32_t in, std::uint32_t lanes) : world_(world) {
        const Unharmed here;
        constexpr std::array<std::size_t, 5> sizes = {8, 3000, 20'000, 100'000, 300'000};
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            for (Rank from : {0, 1}) {
                // Several on a lane, in another order on each.
                for (std::uint32_t i = 0; i < 3; ++i) {
                    Message& message = messages_.emplace_back();
                    message.from = from;
                    message.stream = {in, lane};
                    message.sent.assign(sizes[(lane + i) % sizes.size()],
                                        static_cast<std::byte>(1 + messages_.size() % 250));
                    message.got.resize(message.sent.size());
                }
            }
        }
    }

    // Posts everything; the receives of every other lane late. False: a message was lost.
    bool run() {
        post_all([](const Message& message) { return message.stream.stream() % 2 == 0; }, false);
        post_all([](const Message&) { return true; }, true);
        for (int i = 0; i < 20; ++i) poll();
        post_all([](const Message& message) { return message.stream.stream() % 2 == 1; }, false);
        const std::int64_t end_ns = now_ns() + patience_ns;
        while (!is_over() && now_ns() < end_ns) poll();
        EXPECT_TRUE(is_over()) << "a message neither comes nor is reported as lost";
        if (lost_) return false;
        for (const Message& message : messages_) EXPECT_EQ(message.got, message.sent);
        return true;
    }

  private:
    struct Message {
        Rank from = 0;
        StreamId stream;
        std::vector<std::byte> sent;
        std::vector<std::byte> got;
        int ended = 0;  // its send, its receive
    };

    bool is_over() const {
        return lost_ ||
               std::ranges::all_of(messages_, [](const Message& m) { return m.ended == 2; });
    }

    template <class Wanted>
    void post_all(Wanted wanted, bool sends) {
        for (std::size_t i = 0; i < messages_.size() && !lost_; ++i) {
            if (!wanted(messages_[i])) continue;
            while (!lost_ &&
                   post(messages_[i], static_cast<std::uint32_t>(i), sends) == Posted::busy)
                poll();
            if (i % 8 == 0) poll();
        }
    }

    // What was refused for want of memory is posted again.
    Posted post(Message& message, std::uint32_t number, bool sends) {
        for (int tries = 0; tries < 2; ++tries) {
            try {
                const Rank to = 1 - message.from;
                const Token token{&anything, 2 * number + 2 + (sends ? 1 : 0)};
                const Posted posted =
                    sends ? world_.at(message.from)
                                .post_send({to, message.stream}, message.sent, token)
                          : world_.at(to).post_recv({message.from, message.stream}, message.got,
                                                    token);
                if (posted == Posted::done) ++message.ended;
                return posted;
            } catch (const std::bad_alloc&) {
                EXPECT_TRUE(Injector::has_fired());
            }
        }
        ADD_FAILURE() << "a second post throws";
        return Posted::done;
    }

    void poll() {
        for (Rank rank : {0, 1}) {
            std::array<Completion, 5> done;
            const std::size_t n = world_.at(rank).poll(done);
            for (std::size_t i = 0; i < n && !lost_; ++i) take(done[i], rank);
        }
    }

    void take(const Completion& completion, Rank rank) {
        const Unharmed here;
        if (const std::uint64_t lost = lost_context(completion)) {
            EXPECT_EQ(completion.code, WEFT_BROKEN_MEMORY);
            EXPECT_TRUE(Injector::has_fired());
            EXPECT_EQ(lost, messages_.front().stream.context());
            lost_ = true;
            return;
        }
        EXPECT_EQ(completion.token.run, &anything) << "rank " << rank << " lost its peer";
        EXPECT_EQ(completion.code, WEFT_OK);
        if (completion.token.run == &anything)
            ++messages_[(completion.token.op - 2) / 2].ended;
        else
            lost_ = true;
    }

    TransportWorld& world_;
    std::vector<Message> messages_;
    bool lost_ = false;
};

class OutOfMemory : public testing::TestWithParam<WorldFactory> {
  protected:
    void SetUp() override {
        if (const std::string absence = GetParam().absence(); !absence.empty())
            GTEST_SKIP() << absence;
        if (!is_its_turn(6)) GTEST_SKIP() << not_its_turn;
    }
};

// Without the simulated network and the wrappers, which are part of the test.
std::vector<WorldFactory> worlds() {
    std::vector<WorldFactory> all = transport_worlds();
    std::erase_if(
        all, [](const WorldFactory& world) { return std::string(world.name).starts_with("sim"); });
    return all;
}
INSTANTIATE_TEST_SUITE_P(Transports, OutOfMemory, testing::ValuesIn(worlds()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(OutOfMemory, AtAnyAllocationLosesNothingElse) {
    long n = 1;
    long messages_lost = 0;
    const long step = runs_all() ? 1 : 3;
    for (bool has_fired = true; has_fired && !HasFailure(); n += step) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        auto world = GetParam().make(2, static_cast<std::uint64_t>(n));
        for (Rank rank : {0, 1}) {
            world->at(rank).open_context(context);
            world->at(rank).open_context(other_context);
        }
        Exchange exchange(*world, context, 24);
        Injector::arm_at(n);
        const bool is_whole = exchange.run();
        has_fired = Injector::disarm();
        EXPECT_TRUE(is_whole || has_fired);
        messages_lost += !is_whole;
        if (!is_whole) {
            for (Rank rank : {0, 1}) world->at(rank).cancel_context(context);
        }
        Exchange rest(*world, other_context, 4);
        EXPECT_TRUE(rest.run()) << "another context suffers";
    }
    std::printf("%ld allocations tried; messages lost by %ld\n", n / step, messages_lost);
    EXPECT_GE(n, 20);
    EXPECT_GE(messages_lost, 1);
}

// Rank 0 tells rank 1 of two failures. That one has no memory to keep what it does not expect yet:
// a notice waits for its receive, or its sender is lost.
class LateNotices {
  public:
    explicit LateNotices(TransportWorld& world) : world_(world) {
        // From now on the ranks are connected.
        send(0);
        expect(0);
        poll_until([&] { return got_[0] == sent_[0]; });
    }
    ~LateNotices() { Injector::disarm(); }

    void send(std::size_t number) {
        sent_[number].fill(static_cast<std::byte>(number + 1));
        Posted posted = Posted::busy;
        while (posted == Posted::busy) {
            posted = world_.at(0).post_send({1, {}}, sent_[number], {&anything, 1});
            poll(0);
        }
    }
    void expect(std::size_t number) {
        EXPECT_NE(world_.at(1).post_recv({0, {}}, got_[number], {&anything, 2}), Posted::busy);
    }
    // Rank 0 alone.
    void send_all() {
        for (int i = 0; i < 100; ++i) poll(0);
    }
    void poll_both() {
        if (!sender_is_gone) poll(0);
        poll(1);
        world_.at(1).acknowledge(Sleeper::waiter);
    }
    template <class Done>
    void poll_until(Done done) {
        for (const std::int64_t end_ns = now_ns() + patience_ns; !done() && now_ns() < end_ns;)
            poll_both();
    }
    bool have_come() const { return got_ == sent_ || loss_ == WEFT_BROKEN_MEMORY; }

    bool sender_is_gone = false;

  private:
    void poll(Rank rank) {
        std::array<Completion, 5> done;
        const std::size_t n = world_.at(rank).poll(done);
        for (std::size_t i = 0; i < n; ++i) {
            if (rank == 1 && done[i].token.run == nullptr) loss_ = done[i].code;
        }
    }

    TransportWorld& world_;
    std::array<std::array<std::byte, 48>, 3> sent_{};
    std::array<std::array<std::byte, 48>, 3> got_{};
    weft_status loss_ = WEFT_OK;  // of rank 0
};

TEST_P(OutOfMemory, DropsNoFailureNotice) {
    for (const bool sender_ends : {false, true}) {
        SCOPED_TRACE(sender_ends);
        auto world = GetParam().make(2, 1);
        if (sender_ends && !world->can_kill()) continue;
        LateNotices notices(*world);
        notices.send(1);
        notices.send(2);
        notices.send_all();
        if (sender_ends) {
            world->kill(0);
            notices.sender_is_gone = true;
        }
        Injector::arm_at_all();
        for (const std::size_t number : {1u, 2u}) {
            for (int i = 0; i < 200; ++i) notices.poll_both();
            notices.expect(number);
        }
        notices.poll_until([&] { return notices.have_come(); });
        Injector::disarm();
        EXPECT_TRUE(notices.have_come());
    }
}

}  // namespace weft::test::transport_memory_test
