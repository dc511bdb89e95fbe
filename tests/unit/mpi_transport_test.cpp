// What the mpi transport holds and gives away, and what it does when the MPI fails; what every
// transport promises is in tests/conformance.
#include "transport/mpi/mpi.h"

#include "conformance/mpi_world.h"
#include "support/failing_new.h"
#include "support/test.h"

namespace weft::test::mpi_transport_test {

constexpr std::size_t MiB = 1024 * 1024;

std::unique_ptr<MpiTransport> end_of(FakeMpi& mpi, Rank rank) {
    return std::move(*mpi.end(rank, mpi::Settings{}));
}

void poll_both(MpiTransport& one, MpiTransport& other) {
    std::array<Completion, 64> done;
    for (int i = 0; i < 20'000; ++i) {
        one.poll(done);
        other.poll(done);
    }
}

TEST(MpiTransport, PutsABoundedAmountAside) {
    FakeMpi mpi(2, 1);
    const auto sender = end_of(mpi, 0);
    const auto receiver = end_of(mpi, 1);
    const std::vector<std::byte> message(8 * 1024);
    const std::size_t before = receiver->usage().bytes;
    std::uint32_t posts = 0;
    for (std::size_t sent = 0; sent < 16 * MiB; sent += message.size()) {
        EXPECT_NE(sender->post_send({1, {1, 0}}, message, {&mpi, ++posts}), Posted::busy);
    }
    poll_both(*sender, *receiver);
    EXPECT_LE(receiver->usage().bytes - before, 4 * MiB);
}

TEST(MpiTransport, CountsFramesBeyondTheirLargestNumber) {
    for (const std::uint64_t seed : {1, 2}) {
        FakeMpi mpi(2, seed);
        const mpi::Settings settings{.first_sequence = ~std::uint32_t{0} - 20};
        const auto one = std::move(*mpi.end(0, settings));
        const auto other = std::move(*mpi.end(1, settings));
        // Eager, and with RTS, CTS and parts, in both directions.
        for (std::size_t round = 0; round < 40; ++round) {
            const std::size_t bytes = round % 4 == 3 ? 100'000 : 8;
            const std::vector<std::byte> sent(bytes, static_cast<std::byte>(round));
            std::vector<std::byte> got[2] = {std::vector<std::byte>(bytes),
                                             std::vector<std::byte>(bytes)};
            std::size_t ended = 0;
            for (const Rank rank : {0, 1}) {
                MpiTransport& end = rank == 0 ? *one : *other;
                const Lane lane{1 - rank, {1, 0}};
                ended += end.post_recv(lane, got[rank], {&mpi, 0}) == Posted::done;
                ended += end.post_send(lane, sent, {&mpi, 1}) == Posted::done;
            }
            std::array<Completion, 64> done;
            for (int i = 0; i < 100'000 && ended < 4; ++i) {
                for (MpiTransport* end : {one.get(), other.get()}) {
                    const std::size_t count = end->poll(done);
                    for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(done[k].code, WEFT_OK);
                    ended += count;
                }
            }
            ASSERT_EQ(ended, 4u) << "round " << round;
            EXPECT_TRUE(got[0] == sent && got[1] == sent) << "round " << round;
        }
    }
}

// So that it can be passed on while the next one moves.
TEST(MpiTransport, MovesOneLargeMessageAfterTheOther) {
    for (const std::uint64_t seed : {1, 2}) {
        FakeMpi mpi(2, seed);
        const auto sender = end_of(mpi, 0);
        const auto receiver = end_of(mpi, 1);
        const std::vector<std::byte> sent(8 * MiB, std::byte{7});
        std::vector<std::byte> received[2];
        for (std::uint32_t i : {0U, 1U}) {
            received[i].resize(sent.size());
            ASSERT_EQ(sender->post_send({1, {1, 0}}, sent, {&mpi, 2 + i}), Posted::pending);
            ASSERT_EQ(receiver->post_recv({0, {1, 0}}, received[i], {&mpi, i}), Posted::pending);
        }
        std::array<Completion, 64> done;
        bool has_come = false;
        for (int i = 0; i < 20'000 && !has_come; ++i) {
            sender->poll(done);
            has_come = receiver->poll(done) > 0;
        }
        ASSERT_TRUE(has_come && received[0] == sent);
        EXPECT_EQ(received[1][sent.size() / 2], std::byte{0});
    }
}

// A large message on an early CTS meant for another receive comes before its own is posted, which may meet it half here.
TEST(MpiTransport, KeepsWhatHasComeOnAnEarlyCtsForAnotherReceive) {
    const Lane from{0, {1, 0}};
    const Lane to{1, {1, 0}};
    std::vector<std::byte> small(8), large(200'000), unmet(100'000), received(large.size());
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i % 251);
    int met_half = 0;
    for (const bool has_early_cts : {false, true}) {
        for (int polls_before = 0; polls_before < 30; ++polls_before) {
            FakeMpi mpi(2, 1 + static_cast<std::uint64_t>(polls_before));
            const auto sender = end_of(mpi, 0);
            const auto receiver = end_of(mpi, 1);
            std::array<Completion, 64> done;
            receiver->open_context(1);
            sender->open_context(1);
            ASSERT_EQ(receiver->post_recv(from, unmet, {&mpi, 1}), Posted::pending);
            for (int i = 0; has_early_cts && i < 100; ++i) sender->poll(done);
            ASSERT_EQ(sender->post_send(to, small, {&mpi, 2}), Posted::done);
            ASSERT_EQ(sender->post_send(to, large, {&mpi, 3}), Posted::pending);
            std::vector<weft_status> ends(5, WEFT_PENDING);
            const auto poll = [&](MpiTransport& end) {
                const std::size_t n = end.poll(done);
                for (std::size_t i = 0; i < n; ++i) ends[done[i].token.op] = done[i].code;
            };
            for (int i = 0; i < polls_before; ++i) poll(i % 2 == 0 ? *sender : *receiver);
            std::ranges::fill(received, std::byte{0});
            const std::uint64_t parts = receiver->pieces_moved();
            met_half += parts > 0 && parts < large.size() / mpi::payload_max;
            if (receiver->post_recv(from, received, {&mpi, 4}) == Posted::done) ends[4] = WEFT_OK;
            for (int i = 0; i < 1'000; ++i) poll(i % 2 == 0 ? *sender : *receiver);
            EXPECT_EQ(ends, (std::vector<weft_status>{WEFT_PENDING, WEFT_BROKEN_MESSAGE,
                                                      WEFT_PENDING, WEFT_OK, WEFT_OK}))
                << polls_before;
            ASSERT_EQ(received, large) << polls_before;
        }
    }
    EXPECT_GT(met_half, 0);
}

// The MPI sends only from the transport's own buffers.
TEST(MpiTransport, GivesTheMpiNoBufferOfTheUser) {
    struct Spy {
        static std::set<const void*>& lent() {
            static std::set<const void*> all;
            return all;
        }
    };
    weft_oob oob{};
    oob.rank = 0;
    oob.ranks = 2;
    oob.mpi.request_bytes = 4;
    oob.mpi.open = [](void*, void**) { return 0; };
    oob.mpi.send = [](void*, const void* data, int bytes, int, void*) {
        for (int i = 0; i < bytes; i += 8) Spy::lent().insert(static_cast<const char*>(data) + i);
        return 0;
    };
    oob.mpi.receive = [](void*, void*, int, void*) { return 0; };
    oob.mpi.test_some = [](void*, int, void*, int* ended, int*) {
        *ended = 0;
        return 0;
    };
    oob.mpi.close = [](void*, int, void*) { return 0; };
    auto transport = std::move(*MpiTransport::create(oob, {}));
    alignas(8) static std::byte data[8192];
    EXPECT_EQ(transport->post_send({1, {1, 0}}, data, {data, 1}), Posted::done);
    EXPECT_FALSE(Spy::lent().empty());
    for (std::size_t i = 0; i < sizeof data; ++i) EXPECT_FALSE(Spy::lent().contains(data + i));
}

struct Failing {
    bool sends = true, tests = true;
};

std::unique_ptr<MpiTransport> over(Failing& failing) {
    weft_oob oob{};
    oob.context = &failing;
    oob.rank = 0;
    oob.ranks = 3;
    oob.mpi.request_bytes = 4;
    oob.mpi.open = [](void* context, void** channel) {
        *channel = context;
        return 0;
    };
    oob.mpi.send = [](void* channel, const void*, int, int, void*) {
        return static_cast<Failing*>(channel)->sends ? 0 : 7;
    };
    oob.mpi.receive = [](void*, void*, int, void*) { return 0; };
    oob.mpi.test_some = [](void* channel, int, void*, int* ended, int*) {
        *ended = 0;
        return static_cast<Failing*>(channel)->tests ? 0 : 7;
    };
    oob.mpi.close = [](void*, int, void*) { return 0; };
    return std::move(*MpiTransport::create(oob, {}));
}

TEST(MpiTransport, LosesThePeerThatItCannotSendTo) {
    Failing mpi;
    const auto transport = over(mpi);
    std::array<std::byte, 8> data{};
    ASSERT_EQ(transport->post_recv({1, {1, 0}}, data, {&mpi, 1}), Posted::pending);
    ASSERT_EQ(transport->post_recv({2, {1, 0}}, data, {&mpi, 2}), Posted::pending);
    mpi.sends = false;
    ASSERT_EQ(transport->post_send({1, {1, 0}}, data, {&mpi, 3}), Posted::pending);
    std::array<Completion, 8> done;
    ASSERT_EQ(transport->poll(done), 3u);
    int losses = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(done[i].code, WEFT_BROKEN_TRANSPORT);
        EXPECT_EQ(done[i].peer, 1);
        losses += done[i].token.run == nullptr;
        EXPECT_NE(done[i].token.op, 2u);
    }
    EXPECT_EQ(losses, 1);
    EXPECT_EQ(transport->poll(done), 0u);
}

TEST(MpiTransport, LosesAllPeersWhenTheMpiFails) {
    Failing mpi;
    const auto transport = over(mpi);
    std::array<std::byte, 8> data{};
    ASSERT_EQ(transport->post_recv({2, {1, 0}}, data, {&mpi, 2}), Posted::pending);
    mpi.tests = false;
    std::array<Completion, 8> done;
    ASSERT_EQ(transport->poll(done), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(done[i].code, WEFT_BROKEN_TRANSPORT);
    EXPECT_EQ(transport->poll(done), 0u);
}

// The MPI never completes these sends.
TEST(MpiTransport, EndsWithoutMemoryWhileSendsAreInFlight) {
    Failing mpi;
    auto transport = over(mpi);
    std::array<std::byte, 8> data{};
    ASSERT_EQ(transport->post_send({1, {1, 0}}, data, {&mpi, 1}), Posted::done);
    Injector::arm_at_all();
    transport.reset();
    Injector::disarm();
}

}  // namespace weft::test::mpi_transport_test
