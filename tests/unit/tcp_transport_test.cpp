// The tcp transport by itself, over loopback: what the tests of all transports do not ask for.
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "conformance/tcp_world.h"
#include "support/failing_new.h"
#include "support/test.h"

namespace weft::test {
inline std::atomic<std::uint64_t> bytes_of_calls{0};  // of the system, sent and received
// Sockets take so many bytes before they are full.
inline std::atomic<std::uint64_t> room{UINT64_MAX};
}  // namespace weft::test

// These replace the C library's in the whole program.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
    if (weft::test::room == 0) {
        errno = EAGAIN;
        return -1;
    }
    msghdr part = *message;
    iovec pieces[2] = {};
    std::uint64_t left = weft::test::room;
    WEFT_ASSERT(part.msg_iovlen <= std::size(pieces));
    for (std::size_t i = 0; i < part.msg_iovlen; ++i) {
        pieces[i] = message->msg_iov[i];
        pieces[i].iov_len = std::min<std::uint64_t>(pieces[i].iov_len, left);
        left -= pieces[i].iov_len;
    }
    part.msg_iov = pieces;
    const ssize_t n = syscall(SYS_sendmsg, socket, &part, flags);
    if (n <= 0) return n;
    weft::test::bytes_of_calls += static_cast<std::uint64_t>(n);
    if (weft::test::room != UINT64_MAX) weft::test::room -= static_cast<std::uint64_t>(n);
    return n;
}
extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
    const ssize_t n = syscall(SYS_recvmsg, socket, message, flags);
    if (n > 0) weft::test::bytes_of_calls += static_cast<std::uint64_t>(n);
    return n;
}

namespace weft::test::tcp_transport_test {

constexpr std::byte untouched{0x5c};

bool is_untouched(const std::vector<std::byte>& buffer) {
    return std::ranges::all_of(buffer, [](std::byte b) { return b == untouched; });
}

void open_both(TcpTransport& one, TcpTransport& other) {
    const std::int64_t give_up = now_ns() + 20'000'000'000;
    std::thread thread([&] { EXPECT_TRUE(one.open_all(give_up).is_ok()); });
    EXPECT_TRUE(other.open_all(give_up).is_ok());
    thread.join();
}

// Polls until `reports` are there; fewer: it took too long.
std::vector<Completion> poll_for(TcpTransport& rank, std::size_t reports) {
    std::vector<Completion> reported;
    for (const std::int64_t end_ns = now_ns() + 20'000'000'000;
         reported.size() < reports && now_ns() < end_ns;) {
        std::array<Completion, 8> done;
        const std::size_t n = rank.poll(done);
        reported.insert(reported.end(), done.begin(), done.begin() + static_cast<long>(n));
    }
    return reported;
}

// Its end reads what still comes, and whoever posted receives may have ended before.
TEST(TcpTransport, TouchesNoBufferWhenItEnds) {
    for (std::uint64_t context : {0u, 1u}) {
        TcpRanks ranks(2, {.interfaces = "127.0.0.1", .peer_timeout_ns = 500'000'000});
        std::unique_ptr<TcpTransport> ends[2] = {ranks.take(0), ranks.take(1)};
        open_both(*ends[0], *ends[1]);
        ends[1]->open_context(context);
        std::vector<std::byte> into(300, untouched);
        const std::vector<std::byte> from(into.size(), std::byte{1});
        ASSERT_EQ(ends[1]->post_recv(Lane(0, {context, 0}), into, {}), Posted::pending);
        ASSERT_EQ(ends[0]->post_send(Lane(1, {context, 0}), from, {}), Posted::done);
        ends[1].reset();
        EXPECT_TRUE(is_untouched(into)) << "context " << context;
    }
}

// It sent on one connection before all of them ended, and the end of the other is seen first.
TEST(TcpTransport, ReadsAllConnectionsOfAPeerThatEnds) {
    for (std::uint32_t stream : {0u, 1u}) {
        SCOPED_TRACE("stream " + std::to_string(stream));
        TcpRanks ranks(2, {.interfaces = "127.0.0.1", .connections = 2});
        open_both(ranks.at(0), ranks.at(1));
        ranks.at(0).open_context(1);
        ranks.at(1).open_context(1);
        std::uint64_t never = 0;
        std::uint64_t value = 0;
        const std::uint64_t sent = 4711;
        const MutBytes into = std::as_writable_bytes(std::span(&never, 1));
        const MutBytes place = std::as_writable_bytes(std::span(&value, 1));
        ASSERT_EQ(ranks.at(1).post_recv(Lane(0, {1, stream}), into, {&never, 1}), Posted::pending);
        const Bytes data = std::as_bytes(std::span(&sent, 1));
        ASSERT_EQ(ranks.at(0).post_send(Lane(1, {1, 1 - stream}), data, {}), Posted::done);
        ranks.kill(0);
        // The receive, and the loss.
        const std::vector<Completion> reported = poll_for(ranks.at(1), 2);
        EXPECT_EQ(reported.size(), 2u);
        for (const Completion& completion : reported) EXPECT_EQ(completion.code, WEFT_BROKEN_RANK);
        EXPECT_EQ(ranks.at(1).post_recv(Lane(0, {1, 1 - stream}), place, {&value, 1}),
                  Posted::done);
        EXPECT_EQ(value, sent);
    }
}

// Rank 0's message to `to`, received in part.
void begin_to_send(TcpRanks& ranks, Rank to, std::uint64_t context,
                   const std::vector<std::byte>& from, std::vector<std::byte>& into) {
    std::array<Completion, 8> done;
    ASSERT_EQ(ranks.at(to).post_recv(Lane(0, {context, 0}), into, {&ranks, 1}), Posted::pending);
    ASSERT_EQ(ranks.at(to).poll(done), 0u);
    room = 2 * tcp::part_bytes + 1000;
    ASSERT_EQ(ranks.at(0).post_send(Lane(to, {context, 0}), from, {&ranks, 2}), Posted::pending);
    for (int i = 0; i < 1'000'000 && room > 0; ++i) ASSERT_EQ(ranks.at(0).poll(done), 0u);
    ASSERT_EQ(room, 0u);
}

// A frame that has begun must end with its bytes, and there is no memory to keep them. The peer takes none of them
// before the call has returned.
TEST(TcpTransport, AbandonsAMessageThatIsBeingWrittenWithoutMemory) {
    constexpr std::uint64_t stays = 3;
    TcpRanks ranks(2, {.interfaces = "127.0.0.1"});
    open_both(ranks.at(0), ranks.at(1));
    const std::vector<std::byte> from(1 << 20, std::byte{1});
    std::vector<std::byte> into(from.size());
    std::array<Completion, 8> done;
    for (const Rank rank : {0, 1}) ranks.at(rank).open_context(stays);
    for (const std::uint64_t context : {1, 2}) {
        for (const Rank rank : {0, 1}) ranks.at(rank).open_context(context);
        begin_to_send(ranks, 1, context, from, into);
        Injector::arm_at_all();
        ranks.at(0).cancel_context(context);
        Injector::disarm();
        room = UINT64_MAX;
        ranks.at(1).cancel_context(context);
        // The rest of the frame goes out.
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(ranks.at(0).poll(done), 0u) << "the peer is lost";
            ASSERT_EQ(ranks.at(1).poll(done), 0u) << "the peer is lost";
        }
    }

    const std::uint64_t sent = 4711;
    std::uint64_t value = 0;
    const Bytes data = std::as_bytes(std::span(&sent, 1));
    const MutBytes place = std::as_writable_bytes(std::span(&value, 1));
    ASSERT_EQ(ranks.at(1).post_recv(Lane(0, {stays, 0}), place, {&ranks, 4}), Posted::pending);
    ASSERT_NE(ranks.at(0).post_send(Lane(1, {stays, 0}), data, {&ranks, 3}), Posted::busy);
    const std::vector<Completion> reported = poll_for(ranks.at(1), 1);
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_EQ(reported[0].token.op, 4u) << "the peer is lost";
    EXPECT_EQ(value, sent);
    EXPECT_EQ(ranks.at(0).poll(done), 0u) << "the peer is lost";
}

// Only one of two such frames can be kept: the other peer is lost, at once.
TEST(TcpTransport, LosesAPeerWhoseMessageCannotBeKept) {
    constexpr std::uint64_t context = 1;
    TcpRanks ranks(3, {.interfaces = "127.0.0.1", .peer_timeout_ns = 500'000'000});
    const std::vector<std::byte> from(1 << 20, std::byte{1});
    std::vector<std::byte> into(from.size());
    std::thread third(
        [&] { EXPECT_TRUE(ranks.at(2).open_all(now_ns() + 20'000'000'000).is_ok()); });
    open_both(ranks.at(0), ranks.at(1));
    third.join();
    for (const Rank rank : {0, 1, 2}) ranks.at(rank).open_context(context);
    begin_to_send(ranks, 1, context, from, into);
    // Rank 0 reads rank 2's CTS, and begins a frame of which nothing goes out.
    std::vector<std::byte> third_into(from.size());
    std::array<Completion, 8> done;
    room = UINT64_MAX;
    ASSERT_EQ(ranks.at(2).post_recv(Lane(0, {context, 0}), third_into, {&ranks, 1}),
              Posted::pending);
    ASSERT_EQ(ranks.at(2).poll(done), 0u);
    room = 0;
    const std::uint64_t before = bytes_of_calls;
    for (int i = 0; i < 1'000'000 && bytes_of_calls == before; ++i)
        ASSERT_EQ(ranks.at(0).poll(done), 0u);
    ASSERT_EQ(ranks.at(0).post_send(Lane(2, {context, 0}), from, {&ranks, 2}), Posted::pending);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(ranks.at(0).poll(done), 0u);
    Injector::arm_at_all();
    ranks.at(0).cancel_context(context);
    Injector::disarm();
    room = UINT64_MAX;
    const std::vector<Completion> reported = poll_for(ranks.at(0), 1);
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_EQ(reported[0].token.run, nullptr);
    EXPECT_EQ(reported[0].code, WEFT_BROKEN_MEMORY);
    EXPECT_EQ(ranks.at(0).poll(done), 0u) << "the other peer is lost, too";
}

// Over all peers.
TEST(TcpTransport, MovesABoundedAmountInOnePoll) {
    constexpr Rank peers = 8;
    constexpr std::size_t large = 4 << 20;
    // Each peer may have a part of a message beyond what all have together.
    constexpr std::uint64_t shared_max =
        tcp::Core::moved_bytes_max + peers * (tcp::part_bytes + 1024);
    constexpr std::uint64_t dedicated_max = tcp::Core::moved_bytes_max * 5 / 4;
    for (const bool is_dedicated : {false, true}) {
        for (const bool sends : {false, true}) {
            SCOPED_TRACE(std::string(is_dedicated ? "dedicated, " : "shared, ") +
                         (sends ? "sending" : "receiving"));
            TcpRanks ranks(peers + 1, {.interfaces = "127.0.0.1"});
            for (Rank rank = 0; rank <= peers; ++rank) {
                if (is_dedicated) ranks.at(rank).dedicate(1, 1);
                ranks.at(rank).open_context(1);
            }
            std::size_t ended = 0;
            const auto poll = [&](Rank rank) {
                std::array<Completion, 8> done;
                ranks.at(rank).acknowledge(Sleeper::waiter);
                const std::size_t n = ranks.at(rank).poll(done);
                for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(done[i].code, WEFT_OK);
                ended += n;
            };
            std::vector<std::vector<std::byte>> buffers(2 * peers, std::vector<std::byte>(large));
            const auto exchange = [&](std::size_t bytes) {
                for (Rank peer = 1; peer <= peers; ++peer) {
                    const Rank from = sends ? 0 : peer;
                    const Rank to = sends ? peer : 0;
                    const auto at = static_cast<std::size_t>(peer - 1);
                    ended += ranks.at(to).post_recv(Lane(from, {1, 0}),
                                                    MutBytes(buffers[at]).first(bytes),
                                                    {&ranks, 1}) == Posted::done;
                    ended += ranks.at(from).post_send(Lane(to, {1, 0}),
                                                      Bytes(buffers[peers + at]).first(bytes),
                                                      {&ranks, 2}) == Posted::done;
                }
            };
            const auto finish = [&] {
                std::uint64_t most = 0;
                for (const std::int64_t end_ns = now_ns() + 20'000'000'000;
                     ended < 2 * peers && now_ns() < end_ns;) {
                    for (int i = 0; i < 20; ++i)
                        for (Rank peer = 1; peer <= peers; ++peer) poll(peer);
                    bytes_of_calls = 0;
                    poll(0);
                    most = std::max(most, bytes_of_calls.load());
                }
                EXPECT_EQ(ended, 2u * peers);
                return most;
            };
            exchange(100'000);
            (void)finish();
            ended = 0;
            exchange(large);
            const std::uint64_t most = finish();
            EXPECT_LE(most, is_dedicated ? dedicated_max : shared_max);
            EXPECT_GE(most, tcp::Core::moved_bytes_max / 4) << "it has enough to move";
        }
    }
}

}  // namespace weft::test::tcp_transport_test
