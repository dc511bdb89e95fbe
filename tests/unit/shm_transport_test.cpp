// The shared-memory transport with its ranks in one process.
#include "transport/shm/shm.h"

#include <poll.h>

#include "base/clock.h"
#include "conformance/shm_traffic.h"
#include "conformance/shm_world.h"
#include "support/test.h"
#include "transport/shm/copy.h"

namespace weft::test::shm_transport_test {

using shm::LargeMethod;
using shm::Settings;

// Answers of post calls and polls of one rank, by token.
struct Rec {
    std::vector<Completion> reported;

    std::size_t count() const { return reported.size(); }
    // How the post with this number ended; WEFT_PENDING: it has not.
    weft_status code_of(std::uint32_t op) const {
        for (const Completion& completion : reported)
            if (completion.token.run != nullptr && completion.token.op == op)
                return completion.code;
        return WEFT_PENDING;
    }
    std::size_t losses() const {
        std::size_t n = 0;
        for (const Completion& completion : reported) n += completion.token.run == nullptr;
        return n;
    }
};

class ShmTest : public ::testing::Test {
  protected:
    void make(Rank ranks, Settings settings = Settings::defaults(2), pid_t pid = getpid()) {
        world = std::make_unique<ShmRanks>(ranks, settings, pid);
        logs.resize(static_cast<std::size_t>(ranks));
        alive.assign(static_cast<std::size_t>(ranks), true);
    }
    Token token(std::uint32_t op) { return {this, op}; }
    Rec& log(Rank rank) { return logs[static_cast<std::size_t>(rank)]; }
    void poll(Rank rank) {
        Completion reported[3];
        const std::size_t count = world->at(rank).poll(reported);
        log(rank).reported.insert(log(rank).reported.end(), reported, reported + count);
    }
    // Polls everybody until `condition` holds.
    bool until(const std::function<bool()>& condition) {
        const std::int64_t deadline_ns = now_ns() + 20'000'000'000;
        while (!condition()) {
            if (now_ns() > deadline_ns) return false;
            for (std::size_t r = 0; r < logs.size(); ++r)
                if (alive[r]) poll(static_cast<Rank>(r));
        }
        return true;
    }
    void settle_down() {
        for (int i = 0; i < 50; ++i)
            for (std::size_t r = 0; r < logs.size(); ++r)
                if (alive[r]) poll(static_cast<Rank>(r));
    }
    void kill(Rank rank) {
        alive[static_cast<std::size_t>(rank)] = false;
        world->kill(rank);
    }
    void leave(Rank rank) {
        alive[static_cast<std::size_t>(rank)] = false;
        world->leave(rank);
    }

    static std::vector<std::byte> pattern(std::size_t bytes, unsigned salt) {
        std::vector<std::byte> data(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            data[i] = static_cast<std::byte>(i * 7 + salt + (i >> 8));
        return data;
    }

    std::unique_ptr<ShmRanks> world;
    std::vector<Rec> logs;
    std::vector<bool> alive;
    Lane to1{1, {1, 0}};
    Lane from0{0, {1, 0}};
};

constexpr std::size_t large = 100'000;

Settings with(LargeMethod method) {
    Settings settings = Settings::defaults(2);
    settings.large = method;
    return settings;
}

class ShmMethods : public ShmTest, public ::testing::WithParamInterface<LargeMethod> {};
constexpr const char* method_names[] = {"ring", "vm_readv"};
INSTANTIATE_TEST_SUITE_P(Methods, ShmMethods,
                         ::testing::Values(LargeMethod::ring, LargeMethod::vm_readv),
                         [](const auto& method) {
                             return method_names[static_cast<std::size_t>(method.param)];
                         });

TEST_P(ShmMethods, messages_of_every_size_in_both_orders) {
    make(2, with(GetParam()));
    std::uint32_t op = 0;
    for (std::size_t bytes :
         {0, 1, 7, 8, 9, 47, 48, 49, 4096, 8192, 8193, 16384, 65536, 1 << 20, 5'000'001}) {
        for (bool receive_first : {true, false}) {
            SCOPED_TRACE(std::to_string(bytes) +
                         (receive_first ? " receive first" : " send first"));
            const std::vector<std::byte> sent = pattern(bytes, op);
            std::vector<std::byte> got(bytes);
            ++op;
            auto send = [&] { return world->at(0).post_send(to1, sent, token(op)); };
            auto receive = [&] { return world->at(1).post_recv(from0, got, token(op)); };
            Posted s, r;
            if (receive_first) {
                r = receive();
                s = send();
            } else {
                s = send();
                settle_down();
                r = receive();
            }
            EXPECT_EQ(s == Posted::done, bytes <= 8192);
            EXPECT_EQ(r == Posted::done, bytes <= 8192 && !receive_first);
            ASSERT_TRUE(until([&] {
                return (r == Posted::done || log(1).code_of(op) != WEFT_PENDING) &&
                       (s == Posted::done || log(0).code_of(op) != WEFT_PENDING);
            }));
            EXPECT_EQ(log(1).code_of(op), r == Posted::done ? WEFT_PENDING : WEFT_OK);
            EXPECT_EQ(log(0).code_of(op), s == Posted::done ? WEFT_PENDING : WEFT_OK);
            EXPECT_TRUE(sent == got);
        }
    }
    const auto& counters = world->at(1).counters();
    EXPECT_EQ(counters.large_by_ring > 0, GetParam() != LargeMethod::vm_readv);
    EXPECT_EQ(counters.large_by_vm_readv > 0, GetParam() == LargeMethod::vm_readv);
}

void subtract(const void* left, const void* right, void* out, std::size_t count) {
    const auto* l = static_cast<const std::uint32_t*>(left);
    const auto* r = static_cast<const std::uint32_t*>(right);
    auto* o = static_cast<std::uint32_t*>(out);
    for (std::size_t i = 0; i < count; ++i) o[i] = l[i] - r[i];
}

TEST_P(ShmMethods, a_receive_combines_what_comes_in_any_way) {
    make(2, with(GetParam()));
    std::uint32_t op = 0;
    for (std::uint32_t count : {0u, 1u, 20u, 2048u, 3000u, 16384u, 1u << 18, 1'250'001u}) {
        for (bool receive_first : {true, false}) {
            SCOPED_TRACE(std::to_string(count) +
                         (receive_first ? " receive first" : " send first"));
            std::vector<std::uint32_t> sent(count), left(count), got(count, 7);
            std::iota(sent.begin(), sent.end(), 5u);
            for (std::uint32_t i = 0; i < count; ++i) left[i] = 3 * i;
            ++op;
            Posted received = Posted::done;
            auto receive = [&] {
                received = world->at(1).post_recv_combined(
                    from0, std::as_writable_bytes(std::span(got)),
                    {subtract, std::as_bytes(std::span(left)).data(), sizeof(std::uint32_t)},
                    token(op));
            };
            if (receive_first) receive();
            const Posted posted =
                world->at(0).post_send(to1, std::as_bytes(std::span(sent)), token(op));
            settle_down();
            if (!receive_first) receive();
            ASSERT_TRUE(until([&] {
                return (received == Posted::done || log(1).code_of(op) == WEFT_OK) &&
                       (posted == Posted::done || log(0).code_of(op) == WEFT_OK);
            }));
            for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(got[i], 2 * i - 5) << i;
        }
    }
    EXPECT_EQ(world->at(1).counters().combined, op);
    EXPECT_EQ(world->at(1).counters().large_by_vm_readv, 0u);
}

TEST_P(ShmMethods, a_message_of_another_size_is_not_combined) {
    make(2, with(GetParam()));
    std::uint32_t op = 0;
    for (std::size_t bytes : {64u, 65536u}) {
        const auto sent = pattern(bytes, 1);
        std::vector<std::byte> left(bytes + 4), got(bytes + 4, std::byte{9});
        (void)world->at(0).post_send(to1, sent, token(100 + op));
        EXPECT_EQ(
            world->at(1).post_recv_combined(from0, got, {subtract, left.data(), 4}, token(op)),
            Posted::pending);
        ASSERT_TRUE(until([&] { return log(1).code_of(op) != WEFT_PENDING; }));
        EXPECT_EQ(log(1).code_of(op), WEFT_BROKEN_MESSAGE);
        EXPECT_TRUE(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{9}; }));
        ++op;
    }
}

TEST_P(ShmMethods, a_large_message_does_not_hold_up_other_lanes) {
    make(2, with(GetParam()));
    const auto first = pattern(4 << 20, 1), second = pattern(8, 2);
    std::vector<std::byte> got_first(first.size()), got_second(8);
    const Lane other_to{1, {1, 1}}, other_from{0, {1, 1}};
    EXPECT_EQ(world->at(0).post_send(to1, first, token(1)), Posted::pending);
    EXPECT_EQ(world->at(0).post_send(other_to, second, token(2)), Posted::done);
    EXPECT_EQ(world->at(1).post_recv(other_from, got_second, token(2)), Posted::pending);
    ASSERT_TRUE(until([&] { return log(1).count() == 1; }));  // its receive is not even posted
    EXPECT_TRUE(second == got_second);

    EXPECT_EQ(world->at(1).post_recv(from0, got_first, token(3)), Posted::pending);
    poll(1);
    poll(0);
    EXPECT_EQ(world->at(0).post_send(other_to, second, token(4)), Posted::done)
        << "the ring must have room beside the large message";
    EXPECT_EQ(world->at(1).post_recv(other_from, got_second, token(5)), Posted::pending);
    ASSERT_TRUE(until([&] { return log(1).code_of(5) == WEFT_OK; }));
    EXPECT_EQ(log(1).code_of(3), WEFT_PENDING) << "the small one should overtake";
    ASSERT_TRUE(until([&] { return log(1).count() == 3 && log(0).count() == 1; }));
    EXPECT_TRUE(first == got_first);
}

TEST_P(ShmMethods, an_abandoned_large_send_breaks_its_receive) {
    for (int polls_before : {0, 1, 3}) {
        SCOPED_TRACE(polls_before);
        logs.clear();
        make(2, with(GetParam()));
        auto sent = pattern(4 << 20, 1);
        std::vector<std::byte> got(sent.size());
        world->at(0).post_send(to1, sent, token(1));
        if (polls_before > 0) world->at(1).post_recv(from0, got, token(1));
        for (int i = 0; i < polls_before; ++i) {
            poll(1);
            poll(0);
        }
        world->at(0).cancel_context(1);
        std::fill(sent.begin(), sent.end(), std::byte{0});
        if (polls_before == 0) world->at(1).post_recv(from0, got, token(1));
        ASSERT_TRUE(until([&] { return log(1).count() == 1; }));
        EXPECT_EQ(log(1).reported[0].code, WEFT_BROKEN_RANK);
        EXPECT_EQ(log(1).reported[0].peer, 0);
        settle_down();
        EXPECT_EQ(log(0).count(), 0u);
    }
}

TEST_P(ShmMethods, an_abandoned_receive_is_not_touched_and_frees_its_sender) {
    for (int polls_before : {0, 1, 3}) {
        SCOPED_TRACE(polls_before);
        logs.clear();
        make(2, with(GetParam()));
        const auto sent = pattern(4 << 20, 1);
        std::vector<std::byte> got(sent.size());
        world->at(1).post_recv(from0, got, token(1));
        world->at(0).post_send(to1, sent, token(1));
        for (int i = 0; i < polls_before; ++i) {
            poll(1);
            poll(0);
        }
        world->at(1).cancel_context(1);
        std::fill(got.begin(), got.end(), std::byte{0xee});
        ASSERT_TRUE(until([&] { return log(0).count() == 1; })) << "the sender waits forever";
        settle_down();
        EXPECT_EQ(log(1).count(), 0u);
        for (std::byte byte : got) ASSERT_EQ(byte, std::byte{0xee});
    }
}

TEST_P(ShmMethods, abandoning_one_context_leaves_the_others_alone) {
    make(2, with(GetParam()));
    const Lane keep_to{1, {2, 0}}, keep_from{0, {2, 0}};
    const auto data = pattern(4 << 20, 1), small = pattern(8, 2);
    std::vector<std::byte> got(data.size()), got_small(8), lost(data.size());
    world->at(0).post_send(to1, data, token(1));
    world->at(0).post_send(to1, small, token(2));
    world->at(0).post_send(keep_to, data, token(3));
    world->at(0).post_send(keep_to, small, token(4));
    world->at(1).post_recv(from0, lost, token(1));
    poll(1);
    world->at(1).cancel_context(1);
    world->at(1).post_recv(keep_from, got, token(3));
    world->at(1).post_recv(keep_from, got_small, token(4));
    ASSERT_TRUE(until([&] {
        return log(1).code_of(3) == WEFT_OK && log(1).code_of(4) == WEFT_OK &&
               log(0).code_of(3) == WEFT_OK && log(0).code_of(4) == WEFT_OK;
    }));
    EXPECT_TRUE(data == got && small == got_small);
    // What comes later for the dead context is dropped, and its sender is not kept waiting.
    world->at(0).post_send(to1, small, token(5));
    world->at(0).post_send(to1, data, token(6));
    ASSERT_TRUE(until([&] { return log(0).code_of(6) == WEFT_OK; }));
    settle_down();
    EXPECT_EQ(log(1).count(), 2u);
}

TEST_P(ShmMethods, random_traffic_of_threads_that_sleep) {
    for (Rank count : {2, 4}) {
        const TrafficShape shape{.ranks = count, .messages = 20, .seed = 77};
        make(count, with(GetParam()));
        std::vector<std::string> stuck(static_cast<std::size_t>(count));
        std::vector<std::thread> threads;
        for (Rank rank = 0; rank < count; ++rank)
            threads.emplace_back([&, rank] {
                Traffic traffic(world->at(rank), rank, shape);
                (void)traffic.play(stuck[static_cast<std::size_t>(rank)]);
            });
        for (std::thread& thread : threads) thread.join();
        for (const std::string& where : stuck) EXPECT_EQ(where, "");
    }
}

TEST_F(ShmTest, a_full_ring_delays_sends_and_keeps_their_order) {
    Settings settings = Settings::defaults(2);
    settings.ring_bytes = 16 * 1024;
    make(2, settings);
    constexpr std::uint32_t messages = 2000;
    std::vector<std::uint64_t> sent(messages), got(messages);
    std::iota(sent.begin(), sent.end(), 1);
    std::uint32_t at_once = 0;
    for (std::uint32_t i = 0; i < messages; ++i)
        at_once += world->at(0).post_send(to1, std::as_bytes(std::span(&sent[i], 1)), token(i)) ==
                   Posted::done;
    const auto slots = static_cast<std::uint32_t>(settings.ring_bytes / shm::slot_bytes);
    EXPECT_LE(at_once, slots);
    EXPECT_GT(at_once, slots - 8);
    for (std::uint32_t i = 0; i < messages; ++i)
        world->at(1).post_recv(from0, std::as_writable_bytes(std::span(&got[i], 1)), token(i));
    ASSERT_TRUE(
        until([&] { return log(1).count() == messages && log(0).count() == messages - at_once; }));
    EXPECT_EQ(sent, got);
    for (std::uint32_t i = 0; i < messages; ++i) ASSERT_EQ(log(1).reported[i].token.op, i);
    for (std::uint32_t i = at_once; i < messages; ++i)
        ASSERT_EQ(log(0).reported[i - at_once].token.op, i);
}

TEST_F(ShmTest, unreadable_memory_falls_back_to_the_ring_for_good) {
    make(2, with(LargeMethod::vm_readv), 0x7ffffff0);  // no such process
    const auto sent = pattern(large, 1);
    std::vector<std::byte> got(large);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        world->at(1).post_recv(from0, got, token(i));
        world->at(0).post_send(to1, sent, token(i));
        ASSERT_TRUE(until([&] { return log(1).count() == i && log(0).count() == i; }));
        EXPECT_TRUE(sent == got);
    }
    EXPECT_EQ(world->at(1).counters().vm_readv_refusals, 1u);
    EXPECT_EQ(world->at(1).counters().large_by_ring, 2u);
}

TEST_F(ShmTest, a_dead_peer_breaks_what_needs_it_and_is_reported_once) {
    make(3);
    const auto small = pattern(8, 1), big = pattern(large, 2);
    std::vector<std::byte> got(8), never(8), never_big(large), from_other(8);
    const Lane to0{0, {1, 0}}, from1{1, {1, 0}}, from2{2, {1, 0}};
    EXPECT_EQ(world->at(1).post_send(to0, small, token(9)), Posted::done);
    world->at(0).post_recv(from1, got, token(1));
    world->at(0).post_recv(from1, never, token(2));
    world->at(0).post_recv({1, {1, 7}}, never_big, token(3));
    world->at(0).post_send(to1, big, token(4));
    world->at(0).post_recv(from2, from_other, token(5));
    kill(1);
    ASSERT_TRUE(until([&] { return log(0).count() == 5; }));
    EXPECT_EQ(log(0).code_of(1), WEFT_OK) << "what was sent before the end arrives";
    EXPECT_TRUE(small == got);
    for (std::uint32_t op : {2u, 3u, 4u}) EXPECT_EQ(log(0).code_of(op), WEFT_BROKEN_RANK);
    EXPECT_EQ(log(0).losses(), 1u);
    for (const Completion& completion : log(0).reported) EXPECT_EQ(completion.peer, 1);

    EXPECT_EQ(world->at(0).post_send(to1, small, token(6)), Posted::pending);
    EXPECT_EQ(world->at(0).post_recv(from1, never, token(7)), Posted::pending);
    world->at(2).post_send(to0, small, token(1));
    ASSERT_TRUE(until([&] { return log(0).count() == 8; }));
    EXPECT_EQ(log(0).code_of(6), WEFT_BROKEN_RANK);
    EXPECT_EQ(log(0).code_of(7), WEFT_BROKEN_RANK);
    EXPECT_EQ(log(0).code_of(5), WEFT_OK);
    EXPECT_EQ(log(0).losses(), 1u);
    ASSERT_TRUE(until([&] { return log(2).losses() == 1; }))
        << "reported even to a rank that waits for nothing";
}

TEST_F(ShmTest, a_peer_that_left_breaks_what_needs_it_and_is_not_reported) {
    make(2);
    const auto small = pattern(8, 1);
    std::vector<std::byte> got(8);
    EXPECT_EQ(world->at(1).post_send({0, {1, 0}}, small, token(1)), Posted::done);
    leave(1);
    for (int i = 0; i < 10'000; ++i) poll(0);
    EXPECT_EQ(log(0).count(), 0u);
    EXPECT_EQ(world->at(0).post_recv({1, {1, 0}}, got, token(1)), Posted::done);
    EXPECT_TRUE(small == got);
    EXPECT_EQ(world->at(0).post_recv({1, {1, 0}}, got, token(2)), Posted::pending);
    ASSERT_TRUE(until([&] { return log(0).code_of(2) == WEFT_BROKEN_RANK; }));
    settle_down();
    EXPECT_EQ(log(0).losses(), 0u);
}

TEST_F(ShmTest, a_sleeper_is_woken_when_its_peer_leaves_or_dies) {
    for (bool dies : {true, false}) {
        SCOPED_TRACE(dies);
        logs.clear();
        make(2);
        std::vector<std::byte> never(8);
        world->at(0).post_recv({1, {1, 0}}, never, token(1));
        ASSERT_TRUE(world->at(0).arm(Sleeper::waiter));
        dies ? kill(1) : leave(1);
        pollfd fd{world->at(0).wait_fd(Sleeper::waiter), POLLIN, 0};
        ASSERT_EQ(::poll(&fd, 1, 10'000), 1);
        world->at(0).acknowledge(Sleeper::waiter);
        poll(0);
        EXPECT_EQ(log(0).code_of(1), WEFT_BROKEN_RANK);
        EXPECT_EQ(log(0).losses(), dies ? 1u : 0u);
        EXPECT_TRUE(world->at(0).arm(Sleeper::waiter));
        EXPECT_EQ(::poll(&fd, 1, 0), 0) << "the end of a process wakes once";
    }
}

bool is_readable(int fd) {
    pollfd poll_fd{fd, POLLIN, 0};
    return ::poll(&poll_fd, 1, 0) == 1;
}

TEST_F(ShmTest, one_doorbell_per_sleep_and_none_when_awake) {
    make(2);
    ShmTransport& sender = world->at(0);
    ShmTransport& sleeper = world->at(1);
    const auto small = pattern(8, 1);
    std::vector<std::byte> got(8);
    sender.post_send(to1, small, token(1));
    EXPECT_EQ(sender.counters().doorbells_rung, 0u);
    EXPECT_FALSE(sleeper.arm(Sleeper::thread)) << "something has arrived already";
    EXPECT_EQ(sleeper.post_recv(from0, got, token(1)), Posted::pending);
    ASSERT_TRUE(until([&] { return log(1).count() == 1; }));

    for (Sleeper kind : {Sleeper::thread, Sleeper::waiter}) {
        const std::uint64_t rung_before = sender.counters().doorbells_rung;
        const Sleeper other = kind == Sleeper::thread ? Sleeper::waiter : Sleeper::thread;
        ASSERT_TRUE(sleeper.arm(kind));
        EXPECT_FALSE(is_readable(sleeper.wait_fd(kind)));
        for (std::uint32_t i = 0; i < 10; ++i) {
            sender.post_send(to1, small, token(i));
            EXPECT_EQ(sender.wake_peers(), i == 0 && kind == Sleeper::thread);
        }
        EXPECT_EQ(sender.counters().doorbells_rung, rung_before + 1);
        EXPECT_TRUE(is_readable(sleeper.wait_fd(kind)));
        EXPECT_FALSE(is_readable(sleeper.wait_fd(other)));
        sleeper.acknowledge(kind);
        EXPECT_FALSE(is_readable(sleeper.wait_fd(kind)));
        settle_down();
    }
    ASSERT_TRUE(sleeper.arm(Sleeper::thread));
    EXPECT_TRUE(sleeper.arm(Sleeper::none));
    sender.post_send(to1, small, token(1));
    sender.wake_peers();
    EXPECT_FALSE(is_readable(sleeper.wait_fd(Sleeper::thread)));
}

TEST_F(ShmTest, a_sleeper_that_has_looked_again_is_not_woken) {
    make(2);
    ShmTransport& sender = world->at(0);
    ShmTransport& sleeper = world->at(1);
    const auto small = pattern(8, 1);
    std::vector<std::byte> got(8);
    auto sleep_again = [&] {
        sleeper.arm(Sleeper::none);
        poll(1);
        ASSERT_TRUE(sleeper.arm(Sleeper::thread));
    };
    sleep_again();
    sender.post_send(to1, small, token(1));
    for (int i = 0; i < 20; ++i) poll(0);
    EXPECT_EQ(sender.counters().doorbells_rung, 0u) << "it may be on its way back";
    sleep_again();
    sender.wake_peers();
    EXPECT_EQ(sender.counters().doorbells_rung, 0u);

    // What comes after the look counts anew.
    sender.post_send(to1, small, token(2));
    for (int i = 0; i < 20; ++i) poll(0);
    sleep_again();
    sender.post_send(to1, small, token(3));
    sender.wake_peers();
    EXPECT_EQ(sender.counters().doorbells_rung, 1u);
}

TEST_F(ShmTest, a_thread_armed_on_demand_is_woken_by_failure_notices_alone) {
    make(2);
    ShmTransport& sender = world->at(0);
    ShmTransport& sleeper = world->at(1);
    const auto small = pattern(64, 1), big = pattern(large, 2);
    std::vector<std::byte> got(64), got_big(large), notice(64);
    sleeper.post_recv(from0, got_big, token(1));
    sleeper.post_recv(from0, got, token(2));
    sleeper.post_recv(Lane{0, {}}, notice, token(3));
    ASSERT_TRUE(sleeper.arm_on_demand());
    sender.post_send(to1, big, token(1));
    sender.post_send(to1, small, token(2));
    sender.wake_peers();
    EXPECT_EQ(sender.counters().doorbells_rung, 0u);
    EXPECT_TRUE(sleeper.arm_on_demand()) << "nobody waits for what has come";
    EXPECT_FALSE(sleeper.arm(Sleeper::thread));
    EXPECT_TRUE(sleeper.arm_on_demand());
    sender.post_send(Lane{1, {}}, small, token(3));
    sender.wake_peers();
    EXPECT_EQ(sender.counters().doorbells_rung, 1u);
    EXPECT_TRUE(is_readable(sleeper.wait_fd(Sleeper::thread)));
    EXPECT_FALSE(sleeper.arm_on_demand()) << "it is behind the others";
    ASSERT_TRUE(until([&] { return log(1).count() == 3; }));
    EXPECT_TRUE(got_big == big && got == small && notice == small);
}

// Where ranks share cores with each other's threads.
class ShmPushed : public ShmTest {
  protected:
    void make_pushing(Settings settings = Settings::defaults(2)) {
        make(2, settings);
        for (Rank rank : {0, 1}) world->at(rank).demand(Demand::none);
    }
    std::uint64_t pushed() { return world->at(0).counters().large_pushed; }
};

TEST_F(ShmPushed, a_medium_message_is_sent_at_once_whether_it_is_expected_or_not) {
    make_pushing();
    for (bool is_expected : {true, false}) {
        const std::uint64_t before = pushed();
        std::vector<std::vector<std::byte>> sent, got;
        for (std::size_t bytes : {std::size_t{8193}, large, std::size_t{128 * 1024}}) {
            sent.push_back(pattern(bytes, static_cast<unsigned>(bytes)));
            got.emplace_back(bytes);
        }
        auto post_all = [&] {
            for (std::uint32_t i = 0; i < got.size(); ++i)
                world->at(1).post_recv(from0, got[i], token(i));
        };
        if (is_expected) post_all();
        for (const auto& data : sent)
            EXPECT_EQ(world->at(0).post_send(to1, data, token(9)), Posted::done);
        poll(1);
        if (!is_expected) post_all();
        settle_down();
        EXPECT_EQ(pushed() - before, 3u);
        EXPECT_EQ(got, sent);
    }
}

TEST_F(ShmPushed, where_ranks_share_cores_it_needs_no_demands) {
    make(2, Settings::defaults(2));
    const auto data = pattern(32 * 1024, 1);
    EXPECT_EQ(world->at(0).post_send(to1, data, token(1)), Posted::pending);
    EXPECT_EQ(pushed(), 0u);
    std::vector<std::byte> got(data.size());
    world->at(1).post_recv(from0, got, token(2));
    settle_down();
    EXPECT_EQ(got, data);
    world->at(0).push_medium();
    EXPECT_EQ(world->at(0).post_send(to1, data, token(3)), Posted::done);
    EXPECT_EQ(pushed(), 1u);
    got.assign(got.size(), {});
    world->at(1).post_recv(from0, got, token(4));
    settle_down();
    EXPECT_EQ(got, data);
}

TEST_F(ShmPushed, a_larger_message_and_one_without_room_wait_for_their_receive) {
    Settings settings = Settings::defaults(2);
    settings.ring_bytes = 128 * 1024;
    make_pushing(settings);
    const auto data = pattern(20'000, 1), too_large = pattern(128 * 1024 + 1, 2);
    std::vector<std::byte> got(20'000), got_again(20'000), got_large(too_large.size());
    EXPECT_EQ(world->at(0).post_send(to1, data, token(1)), Posted::done);
    EXPECT_EQ(world->at(0).post_send(to1, data, token(2)), Posted::pending) << "there is no room";
    EXPECT_EQ(world->at(0).post_send(to1, too_large, token(3)), Posted::pending);
    EXPECT_EQ(pushed(), 1u);
    world->at(1).post_recv(from0, got, token(1));
    world->at(1).post_recv(from0, got_again, token(2));
    world->at(1).post_recv(from0, got_large, token(3));
    ASSERT_TRUE(until([&] { return log(1).count() == 3 && log(0).count() == 2; }));
    EXPECT_TRUE(got == data && got_again == data && got_large == too_large);
}

TEST_F(ShmPushed, a_message_of_the_wrong_size_writes_nothing) {
    make_pushing();
    const auto data = pattern(large, 1);
    std::vector<std::byte> early(large - 1), late(large + 1);
    world->at(1).post_recv(from0, early, token(1));
    world->at(0).post_send(to1, data, token(1));
    world->at(0).post_send(to1, data, token(2));
    settle_down();
    EXPECT_EQ(log(1).code_of(1), WEFT_BROKEN_MESSAGE);
    world->at(1).post_recv(from0, late, token(2));
    settle_down();
    EXPECT_EQ(log(1).code_of(2), WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(early, std::vector<std::byte>(early.size()));
    EXPECT_EQ(late, std::vector<std::byte>(late.size()));
}

TEST_F(ShmPushed, a_receiver_that_is_far_behind_gets_no_more) {
    make_pushing();
    const auto data = pattern(128 * 1024, 1);
    constexpr std::uint32_t messages = 32;
    for (std::uint32_t i = 0; i < messages; ++i) {
        world->at(0).post_send(to1, data, token(i));
        poll(1);
    }
    EXPECT_LT(pushed(), 12u);
    EXPECT_LT(world->at(1).counters().unexpected_bytes_max, 2u << 20);
    std::vector<std::byte> got(data.size());
    for (std::uint32_t i = 0; i < messages; ++i) {
        std::ranges::fill(got, std::byte{0});
        world->at(1).post_recv(from0, got, token(i));
        settle_down();
        ASSERT_EQ(got, data);
    }
}

TEST_F(ShmPushed, a_context_that_is_abandoned_meanwhile_drops_it) {
    make_pushing();
    const auto data = pattern(large, 1);
    std::vector<std::byte> got(large);
    for (Rank rank : {0, 1}) world->at(rank).open_context(1);
    for (bool is_expected : {true, false}) {
        if (is_expected) world->at(1).post_recv(from0, got, token(1));
        world->at(0).post_send(to1, data, token(1));
        if (!is_expected) poll(1);
        world->at(1).cancel_context(1);
        world->at(1).open_context(1);
        settle_down();
        EXPECT_EQ(log(1).count(), 0u);
        world->at(1).cancel_context(1);
        world->at(1).open_context(1);
    }
}

// Half of a message has come, and then something else happens.
class ShmHalfPushed : public ShmPushed {
  protected:
    static constexpr std::size_t half = 1000;

    void begin(bool is_expected) {
        logs.clear();
        make_pushing();
        world->at(1).open_context(1);
        if (is_expected) world->at(1).post_recv(from0, got_, token(1));
        writer_ = shm::RingWriter(world->ring(0, 1));
        const std::uint64_t bytes = data_.size();
        write(shm::RecordKind::pushed, StreamId{1, 0}.packed(),
              std::as_bytes(std::span(&bytes, 1)));
        write(shm::RecordKind::pushed_part, 0, {data_.data(), half});
        poll(1);
    }
    void end() {
        write(shm::RecordKind::pushed_part, 0, {data_.data() + half, half});
        settle_down();
    }

    const std::vector<std::byte> data_ = pattern(2 * half, 1);
    std::vector<std::byte> got_ = std::vector<std::byte>(2 * half);

  private:
    void write(shm::RecordKind kind, std::uint64_t id, Bytes payload) {
        shm::Record* record = writer_.reserve(payload.size());
        ASSERT_NE(record, nullptr);
        std::ranges::copy(payload, record->payload());
        writer_.publish(record, kind, id, payload.size());
    }
    shm::RingWriter writer_;
};

TEST_F(ShmHalfPushed, its_receive_gets_both_halves) {
    begin(/*is_expected=*/false);
    EXPECT_EQ(world->at(1).post_recv(from0, got_, token(1)), Posted::pending);
    settle_down();
    EXPECT_EQ(log(1).count(), 0u);
    end();
    EXPECT_EQ(log(1).code_of(1), WEFT_OK);
    EXPECT_EQ(got_, data_);
}

TEST_F(ShmHalfPushed, its_receive_has_the_wrong_size) {
    begin(/*is_expected=*/false);
    std::vector<std::byte> short_of_it(100);
    world->at(1).post_recv(from0, short_of_it, token(1));
    end();
    EXPECT_EQ(log(1).code_of(1), WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(short_of_it, std::vector<std::byte>(100));
}

TEST_F(ShmHalfPushed, its_context_is_abandoned) {
    for (bool is_expected : {true, false}) {
        begin(is_expected);
        world->at(1).cancel_context(1);
        std::ranges::fill(got_, std::byte{0});
        end();
        EXPECT_EQ(log(1).count(), 0u);
        EXPECT_EQ(got_, std::vector<std::byte>(got_.size()));
    }
}

TEST_F(ShmHalfPushed, its_sender_dies) {
    for (bool is_expected : {true, false}) {
        begin(is_expected);
        kill(0);
        ASSERT_TRUE(until([&] { return log(1).losses() == 1; }));
        if (!is_expected) world->at(1).post_recv(from0, got_, token(1));
        settle_down();
        EXPECT_EQ(log(1).code_of(1), WEFT_BROKEN_RANK);
    }
}

// The receiver looks, and posts its receives, in the middle of messages.
TEST_F(ShmPushed, receives_meet_messages_that_are_under_way) {
    make_pushing();
    constexpr std::uint32_t messages = 400;
    const auto data = pattern(128 * 1024, 1);
    std::atomic<bool> is_over{false};
    std::thread sender([&] {
        Completion done[4];
        std::uint32_t ended = 0;
        for (std::uint32_t i = 0; i < messages; ++i)
            ended += world->at(0).post_send(to1, data, token(i)) == Posted::done;
        while (ended < messages && !is_over)
            ended += static_cast<std::uint32_t>(world->at(0).poll(done));
        while (!is_over) world->at(0).poll(done);
    });
    Prng prng(5);
    std::vector<std::byte> got(data.size());
    for (std::uint32_t i = 0; i < messages; ++i) {
        std::ranges::fill(got, std::byte{0});
        for (std::uint64_t polls = prng.below(4); polls > 0; --polls) poll(1);
        const std::size_t before = log(1).count();
        if (world->at(1).post_recv(from0, got, token(i)) != Posted::done) {
            const std::int64_t deadline_ns = now_ns() + 20'000'000'000;
            while (log(1).count() == before && now_ns() < deadline_ns) poll(1);
        }
        ASSERT_EQ(got, data) << "message " << i;
    }
    is_over = true;
    sender.join();
    EXPECT_GT(pushed(), 0u);
}

TEST_F(ShmPushed, what_a_dead_rank_pushed_still_arrives) {
    make_pushing();
    const auto data = pattern(large, 1);
    std::vector<std::byte> got(large);
    world->at(0).post_send(to1, data, token(1));
    kill(0);
    EXPECT_TRUE(until([&] { return log(1).losses() == 1; }));
    EXPECT_EQ(world->at(1).post_recv(from0, got, token(1)), Posted::done);
    EXPECT_EQ(got, data);
}

TEST_F(ShmTest, who_waits_wakes_those_who_owe_it_something) {
    make(3);
    const auto big = pattern(large, 2);
    std::vector<std::byte> got(large);
    ShmTransport& waiter = world->at(0);
    ShmTransport& sender = world->at(1);
    const Lane to0{0, {1, 0}}, from1{1, {1, 0}};
    sender.post_send(to0, big, token(1));
    waiter.post_recv(from1, got, token(1));
    for (Rank rank : {1, 2}) ASSERT_TRUE(world->at(rank).arm_on_demand());
    poll(0);
    waiter.wake_peers();
    EXPECT_FALSE(is_readable(sender.wait_fd(Sleeper::thread))) << "the receiver only is ready";
    waiter.demand(Demand::quiet);
    EXPECT_FALSE(waiter.wake_peers());
    EXPECT_EQ(waiter.counters().rung_on_demand, 0u);
    waiter.demand(Demand::wakes);
    waiter.demand(Demand::wakes);
    EXPECT_EQ(waiter.counters().rung_on_demand, 1u);
    EXPECT_TRUE(waiter.wake_peers()) << "a thread was woken";
    EXPECT_FALSE(waiter.wake_peers()) << "it was told already";
    EXPECT_TRUE(is_readable(sender.wait_fd(Sleeper::thread)));
    EXPECT_FALSE(is_readable(world->at(2).wait_fd(Sleeper::thread)));
    EXPECT_FALSE(world->at(2).is_demanded());

    // It stays at work until the wait ends, and all that comes wakes it.
    sender.acknowledge(Sleeper::thread);
    EXPECT_TRUE(sender.is_demanded());
    EXPECT_FALSE(sender.arm_on_demand()) << "the receiver is ready";
    ASSERT_TRUE(until([&] { return log(0).count() == 1; }));
    EXPECT_TRUE(got == big);
    EXPECT_TRUE(sender.is_demanded());
    ASSERT_TRUE(sender.arm_on_demand());
    waiter.post_send(Lane(1, {1, 0}), big, token(2));
    waiter.wake_peers();
    EXPECT_TRUE(is_readable(sender.wait_fd(Sleeper::thread)));
    waiter.demand(Demand::none);
    EXPECT_FALSE(sender.is_demanded());
}

// Another thread of a program that sleeps in a wait starts something.
TEST_F(ShmTest, who_is_armed_to_sleep_in_a_wait_demands_what_it_lacks_by_then) {
    make(2);
    std::vector<std::byte> got(large);
    ShmTransport& waiter = world->at(0);
    waiter.demand(Demand::wakes);
    ASSERT_TRUE(waiter.arm(Sleeper::waiter));
    ASSERT_TRUE(world->at(1).arm_on_demand());
    waiter.post_recv(Lane{1, {1, 0}}, got, token(1));
    EXPECT_EQ(waiter.counters().rung_on_demand, 0u);
    ASSERT_TRUE(waiter.arm(Sleeper::waiter));
    EXPECT_EQ(waiter.counters().rung_on_demand, 1u);
    EXPECT_TRUE(is_readable(world->at(1).wait_fd(Sleeper::thread)));
    waiter.arm(Sleeper::none);
    waiter.demand(Demand::none);
    ASSERT_TRUE(waiter.arm(Sleeper::waiter));
    EXPECT_EQ(waiter.counters().rung_on_demand, 1u) << "nobody waits";
}

TEST_F(ShmTest, who_owes_nothing_is_not_woken) {
    make(2);
    const auto big = pattern(3 * large, 2);
    ASSERT_TRUE(world->at(1).arm_on_demand());
    world->at(0).demand(Demand::wakes);
    EXPECT_EQ(world->at(0).counters().rung_on_demand, 0u);
    world->at(0).post_send(to1, big, token(1));
    world->at(0).demand(Demand::wakes);
    EXPECT_EQ(world->at(0).counters().rung_on_demand, 1u) << "it is to take the message";
}

TEST_F(ShmTest, a_message_that_went_out_makes_a_demand_void) {
    make(2);
    const auto small = pattern(8, 1);
    std::vector<std::byte> got(8);
    const Lane to0{0, {1, 0}}, from1{1, {1, 0}};
    world->at(0).post_recv(from1, got, token(1));
    world->at(0).post_recv(from1, got, token(2));
    world->at(0).demand(Demand::wakes);
    world->at(1).post_send(to0, small, token(1));
    EXPECT_FALSE(world->at(1).is_demanded());
    poll(0);
    world->at(0).demand(Demand::wakes);
    EXPECT_TRUE(world->at(1).is_demanded()) << "it was not enough";
}

TEST_F(ShmTest, a_demand_is_passed_on_to_those_who_owe_the_addressee_something) {
    make(3);
    std::vector<std::byte> got(large), relayed(large);
    world->at(1).post_recv({2, {1, 0}}, relayed, token(1));
    for (Rank rank : {1, 2}) ASSERT_TRUE(world->at(rank).arm_on_demand());
    world->at(0).post_recv({1, {1, 0}}, got, token(1));
    world->at(0).demand(Demand::wakes);
    EXPECT_FALSE(is_readable(world->at(2).wait_fd(Sleeper::thread)));
    world->at(1).acknowledge(Sleeper::thread);
    ASSERT_TRUE(world->at(1).arm_on_demand());
    EXPECT_TRUE(is_readable(world->at(2).wait_fd(Sleeper::thread)));
    EXPECT_TRUE(world->at(2).is_demanded());
    world->at(0).demand(Demand::none);
    EXPECT_FALSE(world->at(2).is_demanded());
}

TEST_F(ShmTest, the_dead_demand_nothing) {
    make(3);
    std::vector<std::byte> got(8);
    world->at(0).post_recv({1, {1, 0}}, got, token(1));
    world->at(0).demand(Demand::wakes);
    EXPECT_TRUE(world->at(1).is_demanded());
    kill(0);
    ASSERT_TRUE(until([&] { return log(1).losses() == 1; }));
    EXPECT_FALSE(world->at(1).is_demanded());
    world->at(1).demand(Demand::wakes);
    world->at(1).demand(Demand::none);
}

TEST_F(ShmTest, who_goes_on_polling_wakes_a_sleeper_all_the_same) {
    make(2);
    ASSERT_TRUE(world->at(1).arm(Sleeper::waiter));
    world->at(0).post_send(to1, pattern(8, 1), token(1));
    for (int i = 0; i < 100; ++i) poll(0);
    EXPECT_TRUE(is_readable(world->at(1).wait_fd(Sleeper::waiter)));
}

TEST_F(ShmTest, a_receiver_that_is_far_behind_keeps_bounded_memory) {
    make(2);
    constexpr std::uint32_t messages = 20'000;
    auto size_of = [](std::uint32_t i) { return i % 7 == 0 ? 0 : i % 700; };
    std::vector<std::vector<std::byte>> sent;
    for (std::uint32_t i = 0; i < messages; ++i) sent.push_back(pattern(size_of(i), i));
    std::uint32_t at_once = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
        at_once += world->at(0).post_send(to1, sent[i], token(i)) == Posted::done;
        poll(1);
        poll(0);
    }
    EXPECT_GT(at_once, 1000u);
    EXPECT_LT(at_once, messages / 2) << "the rest waits at its sender";
    EXPECT_LT(world->at(1).counters().unexpected_bytes_max, 2u << 20);
    for (std::uint32_t i = 0; i < messages; ++i) {
        std::vector<std::byte> got(size_of(i));
        const std::size_t before = log(1).count();
        if (world->at(1).post_recv(from0, got, token(i)) == Posted::pending) {
            ASSERT_TRUE(until([&] { return log(1).count() > before; }));
        }
        ASSERT_TRUE(got == sent[i]) << i;
    }
    ASSERT_TRUE(until([&] { return log(0).count() == messages - at_once; }));

    // It has caught up: small messages go at once again.
    world->at(0).post_send(to1, sent[1], token(1));
    settle_down();
    EXPECT_EQ(world->at(0).post_send(to1, sent[1], token(2)), Posted::done);
}

// Why a rank gives its messages up is said in context 0, and must be there before they break.
TEST_F(ShmTest, failure_notices_come_at_once_to_a_receiver_that_is_far_behind) {
    make(2);
    const auto small = pattern(600, 1);
    std::uint32_t sent = 0;
    while (world->at(0).post_send(to1, small, token(sent)) == Posted::done) {
        ASSERT_LT(++sent, 20'000u);
        poll(1);
    }
    std::vector<std::byte> got(40);
    const auto notice = pattern(got.size(), 2);
    world->at(1).post_recv({0, {0, 0}}, got, token(1));
    EXPECT_EQ(world->at(0).post_send({1, {0, 0}}, notice, token(100'000)), Posted::done);
    for (int i = 0; i < 10; ++i) poll(1);
    EXPECT_TRUE(got == notice);
}

TEST_F(ShmTest, a_sender_that_sleeps_on_a_full_ring_is_woken) {
    make(2);
    const auto sent = pattern(4 << 20, 1);
    std::vector<std::byte> got(sent.size());
    world->at(1).post_recv(from0, got, token(1));
    world->at(0).post_send(to1, sent, token(1));
    poll(1);
    while (!world->at(0).arm(Sleeper::thread)) poll(0);
    ASSERT_FALSE(is_readable(world->at(0).wait_fd(Sleeper::thread)));
    for (int i = 0; i < 100 && !is_readable(world->at(0).wait_fd(Sleeper::thread)); ++i) poll(1);
    EXPECT_TRUE(is_readable(world->at(0).wait_fd(Sleeper::thread)));
    ASSERT_TRUE(until([&] { return log(1).count() == 1; }));
    EXPECT_TRUE(sent == got);
}

TEST_F(ShmTest, with_rendezvous_from_0_bytes_on_only_failure_notices_are_sent_at_once) {
    Settings settings = Settings::defaults(2);
    settings.eager_threshold = 0;
    make(2, settings);
    for (std::size_t bytes : {0u, 1u, 1000u}) {
        std::vector<std::byte> data(bytes);
        std::vector<std::byte> into(bytes);
        EXPECT_EQ(world->at(0).post_send({1, {0, 0}}, data, token(0)), Posted::done);
        EXPECT_EQ(world->at(0).post_send({1, {3, 0}}, data, token(1)), Posted::pending);
        settle_down();
        EXPECT_EQ(log(0).count(), 0u) << "taken before there was a receive";
        world->at(1).post_recv({0, {3, 0}}, into, token(2));
        ASSERT_TRUE(until([&] { return log(0).count() == 1; }));
        logs[0].reported.clear();
    }
}

TEST_F(ShmTest, with_rendezvous_from_1_GiB_on_what_fits_the_ring_is_sent_at_once) {
    Settings settings = Settings::defaults(2);
    settings.eager_threshold = std::size_t{1} << 30;
    make(2, settings);
    std::vector<std::byte> fits(settings.ring_bytes / 8);
    std::vector<std::byte> too_large(settings.ring_bytes / 8 + 1);
    EXPECT_EQ(world->at(0).post_send({1, {3, 0}}, fits, token(0)), Posted::done);
    EXPECT_EQ(world->at(0).post_send({1, {3, 0}}, too_large, token(1)), Posted::pending);
}

TEST(ShmSettings, are_read_and_refused) {
    setenv("WEFT_RESOURCES", "shm_ring=65536", 1);
    setenv("WEFT_RENDEZVOUS", "4K", 1);
    setenv("WEFT_SHM_LARGE", "vm_readv", 1);
    Result<Settings> settings = Settings::from_environment(2);
    ASSERT_TRUE(settings.is_ok());
    EXPECT_EQ(settings->ring_bytes, 65536u);
    EXPECT_EQ(settings->eager_threshold, 4096u);
    EXPECT_EQ(settings->large, LargeMethod::vm_readv);
    for (auto [name, value] :
         {std::pair<const char*, const char*>{"WEFT_RESOURCES", "shm_ring=65537"},
          {"WEFT_RESOURCES", "shm_ring=8K"},
          {"WEFT_RESOURCES", "connect=ahead,shm_ring=-1"},
          {"WEFT_RENDEZVOUS", "2G"},
          {"WEFT_RENDEZVOUS", ""},
          {"WEFT_SHM_LARGE", "dma"}}) {
        const std::string before = getenv(name);
        setenv(name, value, 1);
        EXPECT_EQ(Settings::from_environment(2).status().code, WEFT_REFUSED_SETTING) << name;
        EXPECT_NE(std::string(last_detail()).find(name), std::string::npos);
        setenv(name, before.c_str(), 1);
    }
    // (The writer finds out which stores are better: two former values are the default now.)
    for (const char* ring : {"ring", "ordinary", "streaming"}) {
        setenv("WEFT_SHM_LARGE", ring, 1);
        settings = Settings::from_environment(2);
        ASSERT_TRUE(settings.is_ok()) << ring;
        EXPECT_EQ(settings->large, LargeMethod::ring) << ring;
    }
    for (const char* name : {"WEFT_RESOURCES", "WEFT_RENDEZVOUS", "WEFT_SHM_LARGE"}) unsetenv(name);
}

TEST(ShmSettings, the_rings_of_a_rank_together_stay_within_16_MiB) {
    EXPECT_GE(Settings::defaults(2).ring_bytes, std::size_t{1} << 20);
    for (std::size_t ranks : {1u, 2u, 8u, 9u, 64u, 128u, 1024u}) {
        const Settings s = Settings::defaults(ranks);
        EXPECT_LE(s.ring_bytes * ranks, std::size_t{16} << 20) << ranks;
    }
}

}  // namespace weft::test::shm_transport_test
