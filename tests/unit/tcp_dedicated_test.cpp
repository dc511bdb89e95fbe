// Dedicated connections: messages and task lists take turns on them, only
// their owners touch the bytes, and the end of one is not taken for the end of its peer. The test
// itself plays the lists: it writes and reads the sockets that it has been granted.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "conformance/tcp_world.h"
#include "support/test.h"
#include "transport/dedicated.h"

namespace weft::test::tcp_dedicated_test {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Handshake;

constexpr std::int64_t peer_timeout_ns = 400'000'000;
constexpr std::int64_t patience_ns = 20'000'000'000;

std::vector<std::byte> bytes_of(std::size_t bytes, std::uint64_t tag) {
    Prng random(tag);
    std::vector<std::byte> data(bytes);
    for (std::byte& b : data) b = static_cast<std::byte>(random.next());
    return data;
}

// Two ranks of this thread; stream 0 of a dedicated context has a connection of its own.
class DedicatedConnection : public testing::Test {
  protected:
    static constexpr std::uint64_t context = 5;

    DedicatedConnection() { dedicate(context); }

    void dedicate(std::uint64_t of) {
        for (Rank rank : {0, 1}) {
            at(rank).dedicate(of, 1);
            at(rank).open_context(of);
        }
    }

    TcpTransport& at(Rank rank) { return ranks.at(rank); }
    DedicatedConnections& dedicated(Rank rank) { return *at(rank).dedicated_connections(); }
    // From the other rank, or to it.
    static Lane lane_of(Rank rank, std::uint32_t of = context) { return {1 - rank, {of, 0}}; }

    // A post, or a list's place, by the number it is reported with.
    struct Mine {
        std::vector<std::byte> data;
        ListPlace hold;
        bool is_done = false;
        Completion reported;
    };

    Mine& add(std::size_t bytes = 0) {
        mine.push_back(std::make_unique<Mine>());
        mine.back()->data.resize(bytes);
        return *mine.back();
    }
    Token token_of(const Mine& of) {
        const auto place = std::ranges::find_if(mine, [&](auto& m) { return m.get() == &of; });
        return {this, static_cast<std::uint32_t>(place - mine.begin())};
    }
    Mine& send(Rank rank, std::vector<std::byte> data, std::uint32_t of = context) {
        Mine& made = add();
        made.data = std::move(data);
        made.is_done =
            at(rank).post_send(lane_of(rank, of), made.data, token_of(made)) == Posted::done;
        return made;
    }
    Mine& receive(Rank rank, std::size_t bytes, std::uint32_t of = context) {
        Mine& made = add(bytes);
        made.is_done =
            at(rank).post_recv(lane_of(rank, of), made.data, token_of(made)) == Posted::done;
        return made;
    }
    Mine& hold(Rank rank, bool sends, std::uint32_t messages = 1, std::uint32_t of = context) {
        Mine& made = add();
        made.is_done = dedicated(rank).hold(lane_of(rank, of), sends, messages, made.hold,
                                            token_of(made)) == Posted::done;
        return made;
    }

    void poll(Rank rank) {
        if (gone.contains(rank)) return;
        std::array<Completion, 4> done;
        at(rank).acknowledge(Sleeper::waiter);
        const std::size_t n = at(rank).poll(done);
        for (const Completion& completion : std::span(done).first(n)) {
            if (completion.token.run == nullptr) {
                lost[rank].push_back(completion.code);
                continue;
            }
            Mine& of = *mine[completion.token.op];
            EXPECT_FALSE(of.is_done) << "reported twice";
            of.is_done = true;
            of.reported = completion;
        }
    }
    void poll() {
        for (Rank rank : {0, 1}) poll(rank);
    }
    void poll_for(std::int64_t time_ns) {
        for (const std::int64_t end_ns = now_ns() + time_ns; now_ns() < end_ns;) poll();
    }
    bool until(const std::function<bool()>& what) {
        for (const std::int64_t end_ns = now_ns() + patience_ns; !what(); poll()) {
            if (now_ns() > end_ns) return false;
        }
        return true;
    }
    bool until_done(const Mine& of) {
        return until([&] { return of.is_done; });
    }
    bool until_up() {
        Mine& first = send(0, bytes_of(8, 99));
        Mine& met = receive(1, 8);
        return until([&] { return first.is_done && met.is_done; });
    }

    // What a list does.
    static Frame header_of(const ListPlace& hold, std::uint16_t number, std::size_t bytes,
                           std::uint32_t of = context) {
        return {FrameKind::eager, static_cast<std::uint16_t>(hold.sequence + number), bytes,
                StreamId{of, 0}.packed()};
    }
    // A CTS that a list sends, or receives.
    static Frame cts_of(const ListPlace& hold, std::uint16_t number) {
        return {FrameKind::eager, static_cast<std::uint16_t>(hold.sequence + number), 0,
                cts_stream_of({context, 0}).packed()};
    }
    Mine& hold_ctss(Rank rank, bool sends, std::uint32_t messages = 1) {
        Mine& made = add();
        made.is_done = dedicated(rank).hold({1 - rank, cts_stream_of({context, 0})}, sends,
                                            messages, made.hold, token_of(made)) == Posted::done;
        return made;
    }
    void list_sends(const Mine& list, std::uint16_t number, Bytes data,
                    std::uint32_t of = context) {
        const Frame::Header header = header_of(list.hold, number, data.size(), of).encoded();
        std::vector<std::byte> bytes(header.size() + data.size());
        std::ranges::copy(header, bytes.begin());
        std::ranges::copy(data, bytes.begin() + header.size());
        std::size_t sent = 0;
        EXPECT_TRUE(until([&] {
            const ssize_t n = ::send(list.hold.socket, bytes.data() + sent, bytes.size() - sent,
                                     MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n > 0) sent += static_cast<std::size_t>(n);
            return sent == bytes.size();
        }));
    }
    std::vector<std::byte> list_reads(const Mine& list, std::size_t count) {
        std::vector<std::byte> bytes(count);
        std::size_t got = 0;
        EXPECT_TRUE(until([&] {
            const ssize_t n =
                recv(list.hold.socket, bytes.data() + got, bytes.size() - got, MSG_DONTWAIT);
            if (n > 0) got += static_cast<std::size_t>(n);
            return got == count;
        }));
        return bytes;
    }
    void list_receives(const Mine& list, std::uint16_t number, Bytes data,
                       std::uint32_t of = context) {
        Frame::Header header;
        std::ranges::copy(list_reads(list, header.size()), header.begin());
        EXPECT_EQ(header, header_of(list.hold, number, data.size(), of).encoded());
        EXPECT_TRUE(std::ranges::equal(list_reads(list, data.size()), data));
    }
    static int waiting_bytes(const Mine& list) {
        int waiting = 0;
        EXPECT_EQ(ioctl(list.hold.socket, FIONREAD, &waiting), 0);
        return waiting;
    }

    TcpRanks ranks{2, {.interfaces = "127.0.0.1", .peer_timeout_ns = peer_timeout_ns}};
    std::vector<std::unique_ptr<Mine>> mine;
    std::array<std::vector<weft_status>, 2> lost;
    std::set<Rank> gone;
};

// --- Places --------------------------------------------------------------------------------------

TEST_F(DedicatedConnection, IsThereForStreamsThatHaveOne) {
    EXPECT_TRUE(dedicated(0).carries({1, {context, 0}}));
    EXPECT_FALSE(dedicated(0).carries({1, {context, 1}}));
    EXPECT_FALSE(dedicated(0).carries({1, {context + 1, 0}}));
    at(0).close_context(context);
    EXPECT_FALSE(dedicated(0).carries({1, {context, 0}}));
}

TEST_F(DedicatedConnection, ListIsGrantedItsPlaceWhenTheConnectionIsUp) {
    Mine& sends = hold(0, true);
    Mine& receives = hold(1, false);
    EXPECT_FALSE(sends.is_done);
    EXPECT_TRUE(at(0).has_work()) << "both ends must answer for the connection to come about";
    ASSERT_TRUE(until([&] { return sends.is_done && receives.is_done; }));
    EXPECT_EQ(sends.reported.code, WEFT_OK);
    EXPECT_FALSE(at(0).has_work());
    for (const Mine* of : {&sends, &receives}) {
        EXPECT_EQ(fcntl(of->hold.socket, F_GETFL) & O_NONBLOCK, 0) << "nothing could wait in it";
    }
    list_sends(sends, 0, bytes_of(100, 1));
    list_receives(receives, 0, bytes_of(100, 1));
    Mine& next = hold(0, true);
    EXPECT_TRUE(next.is_done) << "granted at once";
}

TEST_F(DedicatedConnection, MessagesAndListsTakeTheirTurns) {
    // As rank 0 sends them: a message, a list of two, a list of one, two messages, a list of one.
    Mine& first = send(0, bytes_of(3000, 0));
    Mine& pair = hold(0, true, 2);
    Mine& single = hold(0, true, 1);
    Mine& fourth = send(0, bytes_of(0, 4));
    Mine& fifth = send(0, bytes_of(70'000, 5));
    Mine& last = hold(0, true, 1);
    // As rank 1 receives them: a list of two, a message, a list of one, a message, a list of two.
    Mine& into_pair = hold(1, false, 2);
    Mine& into_third = receive(1, 20);
    Mine& into_fourth = hold(1, false, 1);
    Mine& into_fifth = receive(1, 70'000);
    Mine& into_last = hold(1, false, 2);

    ASSERT_TRUE(until([&] { return pair.is_done && single.is_done && into_pair.is_done; }));
    EXPECT_TRUE(first.is_done);
    EXPECT_EQ(pair.hold.socket, single.hold.socket);
    EXPECT_EQ(pair.hold.sequence, 1);
    EXPECT_EQ(single.hold.sequence, 3);
    poll_for(2'000'000);
    EXPECT_FALSE(fourth.is_done);
    EXPECT_FALSE(last.is_done) << "messages are before it";

    list_sends(pair, 0, bytes_of(10, 1));
    list_sends(pair, 1, bytes_of(20, 2));
    list_receives(into_pair, 0, bytes_of(3000, 0));
    list_receives(into_pair, 1, bytes_of(10, 1));
    EXPECT_FALSE(into_third.is_done);
    dedicated(1).release(into_pair.hold);
    ASSERT_TRUE(until_done(into_third));
    EXPECT_EQ(into_third.data, bytes_of(20, 2));

    list_sends(single, 0, bytes_of(30, 3));
    dedicated(0).release(pair.hold);
    EXPECT_FALSE(fourth.is_done);
    dedicated(0).release(single.hold);
    ASSERT_TRUE(until([&] { return into_fourth.is_done; }));
    list_receives(into_fourth, 0, bytes_of(30, 3));
    dedicated(1).release(into_fourth.hold);
    // The fourth message of the sender has no bytes, and met a receive of 70,000.
    ASSERT_TRUE(until_done(into_fifth));
    EXPECT_EQ(into_fifth.reported.code, WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(into_fifth.reported.sent_bytes, 0);
    EXPECT_EQ(into_fifth.reported.expected_bytes, 70'000);
    ASSERT_TRUE(until([&] { return fourth.is_done && into_last.is_done; }));
    list_receives(into_last, 0, bytes_of(70'000, 5));
    ASSERT_TRUE(until([&] { return fifth.is_done && last.is_done; }));
    list_sends(last, 0, bytes_of(1, 6));
    list_receives(into_last, 1, bytes_of(1, 6));
}

TEST_F(DedicatedConnection, ListsMayBeGivenBackInAnotherOrder) {
    ASSERT_TRUE(until_up());
    Mine& first = hold(0, true);
    Mine& second = hold(0, true);
    Mine& third = hold(0, true);
    ASSERT_TRUE(first.is_done && second.is_done && third.is_done);
    // The completion of a later one may be seen first.
    dedicated(0).release(second.hold);
    Mine& message = send(0, bytes_of(10, 0));
    dedicated(0).release(third.hold);
    poll_for(2'000'000);
    EXPECT_FALSE(message.is_done);
    dedicated(0).release(first.hold);
    EXPECT_TRUE(until_done(message));
}

TEST_F(DedicatedConnection, NobodyTouchesTheBytesOfAList) {
    // No timer wakes anybody meanwhile.
    ranks = TcpRanks(2, {.interfaces = "127.0.0.1", .peer_timeout_ns = patience_ns});
    dedicate(context);
    ASSERT_TRUE(until_up());
    poll_for(20'000'000);
    Mine& list = hold(1, false);
    Mine& behind = receive(1, 50);
    ASSERT_TRUE(list.is_done);
    constexpr int all = 2 * static_cast<int>(Frame::header_bytes) + 90;
    for (Sleeper sleeper : {Sleeper::thread, Sleeper::waiter}) {
        // What the start left is still coming on a busy machine.
        const std::int64_t deadline_ns = now_ns() + patience_ns;
        while (!at(1).arm(sleeper) && now_ns() < deadline_ns) {
            at(1).arm(Sleeper::none);
            poll_for(5'000'000);
        }
        const bool is_first = sleeper == Sleeper::thread;
        send(0, is_first ? bytes_of(40, 1) : bytes_of(50, 2));
        pollfd wake{at(1).wait_fd(sleeper), POLLIN, 0};
        EXPECT_EQ(::poll(&wake, 1, 20), 0) << "woken for what a list reads";
        at(1).arm(Sleeper::none);
    }
    EXPECT_TRUE(until([&] { return waiting_bytes(list) == all; }));
    poll_for(5'000'000);
    EXPECT_EQ(waiting_bytes(list), all);
    EXPECT_FALSE(behind.is_done);
    list_receives(list, 0, bytes_of(40, 1));
    dedicated(1).release(list.hold);
    ASSERT_TRUE(until_done(behind));
    EXPECT_EQ(behind.data, bytes_of(50, 2));
}

// What comes early stays in the socket: a list may be posted for it.
TEST_F(DedicatedConnection, NothingIsReadThatIsNotPosted) {
    ASSERT_TRUE(until_up());
    Mine& received = receive(1, 30);
    for (std::uint64_t i = 0; i < 3; ++i) send(0, bytes_of(30, i));
    ASSERT_TRUE(until_done(received));
    poll_for(5'000'000);
    Mine& list = hold(1, false, 2);
    ASSERT_TRUE(list.is_done);
    list_receives(list, 0, bytes_of(30, 1));
    list_receives(list, 1, bytes_of(30, 2));
}

// A message that its receive did not expect is dropped to its last byte, and no further.
TEST_F(DedicatedConnection, ListFindsItsMessageBehindOneOfTheWrongSize) {
    ASSERT_TRUE(until_up());
    for (std::size_t wrong_bytes : {std::size_t{0}, std::size_t{9}, std::size_t{300'000}}) {
        Mine& sent = send(0, bytes_of(wrong_bytes, 1));
        Mine& next = send(0, bytes_of(60, 2));
        Mine& received = receive(1, 8);
        Mine& list = hold(1, false);
        ASSERT_TRUE(until([&] { return received.is_done && list.is_done; }));
        EXPECT_EQ(received.reported.code, WEFT_BROKEN_MESSAGE);
        EXPECT_EQ(received.reported.sent_bytes, static_cast<std::int64_t>(wrong_bytes));
        EXPECT_EQ(received.reported.expected_bytes, 8);
        list_receives(list, 0, bytes_of(60, 2));
        dedicated(1).release(list.hold);
        ASSERT_TRUE(until([&] { return sent.is_done && next.is_done; }));
    }
}

// Both call at once, and either may be behind: whichever of the connections is taken, or both, each
// end's list is granted the socket that the other's writes to.
TEST_F(DedicatedConnection, ListsMeetWhoeverCalls) {
    Prng random(1);
    for (std::uint32_t of = 100; of < 160 && !HasFailure(); ++of) {
        SCOPED_TRACE(of);
        dedicate(of);
        std::array<Mine*, 2> sends;
        std::array<Mine*, 2> receives;
        for (Rank rank : {0, 1}) {
            const auto r = static_cast<std::size_t>(rank);
            sends[r] = &hold(rank, true, 1, of);
            receives[r] = &hold(rank, false, 1, of);
            for (std::uint64_t i = random.below(4); i > 0; --i) poll(rank);
        }
        for (std::uint64_t i = random.below(12); i > 0; --i) poll(random.one_in(2) ? 0 : 1);
        ASSERT_TRUE(until([&] {
            return std::ranges::all_of(sends, &Mine::is_done) &&
                   std::ranges::all_of(receives, &Mine::is_done);
        }));
        for (std::size_t r : {0u, 1u}) list_sends(*sends[r], 0, bytes_of(500, of + r), of);
        for (std::size_t r : {0u, 1u})
            list_receives(*receives[r], 0, bytes_of(500, of + 1 - r), of);
        for (Rank rank : {0, 1}) {
            dedicated(rank).release(sends[static_cast<std::size_t>(rank)]->hold);
            dedicated(rank).release(receives[static_cast<std::size_t>(rank)]->hold);
        }
        for (Rank rank : {0, 1}) at(rank).close_context(of);
    }
}

// --- Ends ----------------------------------------------------------------------------------------

TEST_F(DedicatedConnection, WhatWasSentArrivesAfterItsSenderHasRetired) {
    ASSERT_TRUE(until_up());
    const std::array<std::size_t, 2> in_use{at(0).descriptors(), at(1).descriptors()};
    Mine& sent = send(0, bytes_of(100'000, 1));
    ASSERT_TRUE(until_done(sent));
    at(0).close_context(context);
    poll_for(5'000'000);
    Mine& received = receive(1, 100'000);
    ASSERT_TRUE(until_done(received));
    EXPECT_EQ(received.reported.code, WEFT_OK);
    EXPECT_EQ(received.data, bytes_of(100'000, 1));
    at(1).close_context(context);
    EXPECT_TRUE(until([&] {
        return at(0).descriptors() == in_use[0] - 1 && at(1).descriptors() == in_use[1] - 1;
    })) << "the connection stays open";
    EXPECT_EQ(at(0).counters().connections, 1u) << "the shared one";
}

// A child of the program's has its own hold on each socket, which stays open, and readable, when this
// rank has closed it.
TEST_F(DedicatedConnection, NothingComesOfClosedOnesThatAChildHasInherited) {
    ASSERT_TRUE(until_up());
    int hangs[2];
    ASSERT_EQ(pipe2(hangs, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        ::close(hangs[1]);
        char end;
        _exit(static_cast<int>(read(hangs[0], &end, 1)));  // with the parent, if not before
    }
    ASSERT_GT(child, 0);
    for (Rank rank : {0, 1}) at(rank).close_context(context);
    ASSERT_TRUE(
        until([&] { return at(0).usage().connections == 1 && at(1).usage().connections == 1; }));
    poll_for(20'000'000);
    // Other events come now and then, and go when they have been looked at.
    for (Rank rank : {0, 1}) {
        EXPECT_TRUE(until([&] {
            pollfd events{at(rank).wait_fd(Sleeper::waiter), POLLIN, 0};
            return ::poll(&events, 1, 0) == 0;
        })) << "rank "
            << rank << " would not sleep";
    }
    ::close(hangs[0]);
    ::close(hangs[1]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// A rank that abandons a context says why on the shared connection.
TEST_F(DedicatedConnection, AbandonedOneIsNoReasonToGiveThePeerUp) {
    for (Rank rank : {0, 1}) at(rank).open_context(0);
    ASSERT_TRUE(until_up());
    Mine& received = receive(1, 10);
    Mine& list = hold(1, true);
    ASSERT_TRUE(list.is_done);
    at(0).cancel_context(context);
    std::array<std::byte, 1> byte{};
    ASSERT_TRUE(until([&] { return ::send(list.hold.socket, byte.data(), 1, MSG_NOSIGNAL) < 0; }));
    dedicated(1).fail(list.hold, EPIPE);
    poll_for(peer_timeout_ns / 4);
    EXPECT_FALSE(received.is_done || list.reported.code != WEFT_OK);

    Mine& notice = add(12);
    ASSERT_EQ(at(1).post_recv({0, {}}, notice.data, token_of(notice)), Posted::pending);
    Mine& reported = add();
    reported.data = bytes_of(12, 3);
    (void)at(0).post_send({1, {}}, reported.data, token_of(reported));
    ASSERT_TRUE(until_done(notice));
    at(1).cancel_context(context);
    poll_for(peer_timeout_ns * 3 / 2);
    EXPECT_TRUE(lost[1].empty() && lost[0].empty());
    EXPECT_FALSE(received.is_done);
    EXPECT_EQ(at(1).counters().connections, 1u) << "the shared one";
}

TEST_F(DedicatedConnection, SocketThatTheKernelStillNamesIsShutDownButNotClosed) {
    const auto is_open = [](int socket) { return fcntl(socket, F_GETFD) >= 0; };
    Mine& sends = hold(0, true);
    Mine& receives = hold(1, false);
    ASSERT_TRUE(until([&] { return sends.is_done && receives.is_done; }));
    const int named = sends.hold.socket;
    const int others = receives.hold.socket;
    dedicated(0).keep_open(named);
    at(0).cancel_context(context);
    EXPECT_TRUE(is_open(named));
    char byte;
    EXPECT_EQ(recv(others, &byte, 1, 0), 0) << "it is not shut down";
    at(1).cancel_context(context);
    EXPECT_FALSE(is_open(others));
    at(0).hang_up();
    gone.insert(0);
    EXPECT_TRUE(is_open(named));
    ::close(named);
}

TEST_F(DedicatedConnection, EndThatNobodyExplainsIsTheLossOfThePeer) {
    ASSERT_TRUE(until_up());
    Mine& received = receive(1, 10);
    Mine& list = hold(1, true);
    at(0).cancel_context(context);
    ASSERT_TRUE(until_done(received));
    EXPECT_EQ(received.reported.code, WEFT_BROKEN_TRANSPORT);
    EXPECT_EQ(lost[1], std::vector<weft_status>{WEFT_BROKEN_TRANSPORT});
    list.is_done = false;
    dedicated(1).fail(list.hold, EPIPE);
    ASSERT_TRUE(until_done(list));
    EXPECT_EQ(list.reported.code, WEFT_BROKEN_TRANSPORT);
    EXPECT_EQ(list.reported.peer, 0);
}

TEST_F(DedicatedConnection, PeerThatDiesBreaksItsPlaces) {
    ASSERT_TRUE(until_up());
    Mine& granted = hold(1, false);
    Mine& behind = receive(1, 10);
    Mine& never = hold(1, false);
    ASSERT_TRUE(granted.is_done);
    ASSERT_FALSE(never.is_done);
    at(0).hang_up();
    gone.insert(0);
    std::array<std::byte, 1> byte{};
    ASSERT_TRUE(
        until([&] { return recv(granted.hold.socket, byte.data(), 1, MSG_DONTWAIT) == 0; }));
    granted.is_done = false;
    dedicated(1).fail(granted.hold, 0);
    ASSERT_TRUE(until([&] { return granted.is_done && behind.is_done && never.is_done; }));
    for (const Mine* of : {&granted, &behind, &never}) {
        EXPECT_EQ(of->reported.code, WEFT_BROKEN_RANK);
        EXPECT_EQ(of->reported.peer, 0);
    }
    EXPECT_EQ(lost[1], std::vector<weft_status>{WEFT_BROKEN_RANK});
    Mine& later = hold(1, true);
    ASSERT_TRUE(until_done(later));
    EXPECT_EQ(later.reported.code, WEFT_BROKEN_RANK);
}

// One that has left in good order is not reported as lost; what it sent before still arrives.
TEST_F(DedicatedConnection, WhatAPeerHasSentBeforeItLeavesArrives) {
    ASSERT_TRUE(until_up());
    for (std::uint64_t i = 0; i < 2; ++i) send(0, bytes_of(50'000, i));
    gone.insert(0);
    ranks.take(0).reset();
    poll_for(5'000'000);
    Mine& received = receive(1, 50'000);
    Mine& list = hold(1, false, 2);
    ASSERT_TRUE(until([&] { return received.is_done && list.is_done; }));
    EXPECT_EQ(received.data, bytes_of(50'000, 0));
    list_receives(list, 0, bytes_of(50'000, 1));
    EXPECT_TRUE(lost[1].empty());
    list.is_done = false;
    dedicated(1).fail(list.hold, 0);
    ASSERT_TRUE(until_done(list));
    EXPECT_EQ(list.reported.code, WEFT_BROKEN_RANK);
}

// --- Foreign bytes -------------------------------------------------------------------------------

// A connection with a rank of somebody who holds the key: one that it calls with, or was called with.
class Impostor {
  public:
    // Calls, and awaits its welcome.
    Impostor(const tcp::Address& address, const tcp::Hello& hello, std::function<void()> poll)
        : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)), poll_(std::move(poll)) {
        EXPECT_EQ(connect(fd_.get(), address.get(), address.length), 0);
        talk(Handshake::caller(TcpRanks::key, hello));
        Frame::Header welcome{};
        receive(welcome);
        EXPECT_EQ(welcome, (Frame{FrameKind::welcome, 0, 0, hello.connection}.encoded()));
    }
    // Answers a call, and tells what it is for; it has not welcomed it.
    Impostor(const Fd& listener, Rank own, std::uint64_t& connection, std::function<void()> poll)
        : poll_(std::move(poll)) {
        until([&] {
            fd_ = Fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            return static_cast<bool>(fd_);
        });
        connection = talk(Handshake::listener(TcpRanks::key, own, 2)).connection;
    }

    void send(Bytes bytes) {
        EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }

  private:
    void until(const std::function<bool()>& what) {
        const std::int64_t end_ns = now_ns() + patience_ns;
        for (; !what(); poll_()) ASSERT_LT(now_ns(), end_ns);
    }
    void receive(MutBytes into) {
        until([&] {
            const ssize_t n = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
            if (n > 0) into = into.subspan(static_cast<std::size_t>(n));
            return into.empty();
        });
    }
    tcp::Hello talk(Handshake handshake) {
        until([&] {
            if (const Bytes out = handshake.to_send(); !out.empty()) {
                send(out);
                handshake.sent(out.size());
            } else if (const MutBytes in = handshake.wanted(); !in.empty()) {
                const ssize_t n = recv(fd_.get(), in.data(), in.size(), MSG_DONTWAIT);
                if (n > 0) handshake.received(static_cast<std::size_t>(n));
            }
            return handshake.state() == Handshake::State::proven;
        });
        return *handshake.hello();
    }

    Fd fd_;
    std::function<void()> poll_;
};

TEST_F(DedicatedConnection, ForeignHeaderIsTheLossOfThePeerOnceItIsRead) {
    const std::uint64_t own = StreamId{context, 0}.packed();
    const Frame good{FrameKind::eager, 0, 8, own};
    const Frame foreign[] = {
        {FrameKind::data, 0, 8, own},
        {FrameKind::rts, 0, 8, own},
        {FrameKind::welcome, 0, 0, own},
        {FrameKind::bye, 0, 0, 0},
        {FrameKind::eager, 1, 8, own},
        {FrameKind::eager, 0, 8, StreamId{context, 1}.packed()},
        {FrameKind::eager, 0, 8, own + (std::uint64_t{1} << 32)},
    };
    gone.insert(1);
    Impostor honest(ranks.address(0), {1, 0, own}, [this] { poll(); });
    Mine& met = receive(0, 8);
    honest.send(good.encoded());
    honest.send(bytes_of(8, 1));
    ASSERT_TRUE(until_done(met));
    EXPECT_EQ(met.data, bytes_of(8, 1));
    for (const Frame& frame : foreign) {
        SCOPED_TRACE(static_cast<int>(&frame - foreign));
        ranks = TcpRanks(2, {.interfaces = "127.0.0.1", .peer_timeout_ns = peer_timeout_ns});
        dedicate(context);
        lost[0].clear();
        Impostor impostor(ranks.address(0), {1, 0, own}, [this] { poll(); });
        impostor.send(frame.encoded());
        impostor.send(bytes_of(8, 1));
        poll_for(2'000'000);
        EXPECT_TRUE(lost[0].empty());
        Mine& received = receive(0, 8);
        std::ranges::fill(received.data, std::byte{0x5c});
        ASSERT_TRUE(until_done(received));
        EXPECT_EQ(received.reported.code, WEFT_BROKEN_TRANSPORT);
        EXPECT_EQ(received.reported.peer, 1);
        EXPECT_EQ(received.data, std::vector<std::byte>(8, std::byte{0x5c}));
        EXPECT_EQ(lost[0], std::vector<weft_status>{WEFT_BROKEN_TRANSPORT});
    }
}

// Two calls cross, and the peer sends on its own without ever having looked at ours: it has what it
// needs, and computes. Or it takes ours as well, and sends on that.
void expect_read_where_the_peer_sends(bool by_list) {
    enum class Sends { on_its_own, on_its_own_before_it_looks, on_ours };
    for (Sends sends : {Sends::on_its_own, Sends::on_its_own_before_it_looks, Sends::on_ours}) {
        SCOPED_TRACE(static_cast<int>(sends));
        tcp::Address address = *tcp::Address::parse("127.0.0.1:1");
        address.set_port(0);
        Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        ASSERT_EQ(bind(listener.get(), address.get(), address.length), 0);
        ASSERT_EQ(listen(listener.get(), 8), 0);
        ASSERT_EQ(getsockname(listener.get(), address.get(), &address.length), 0);
        auto node = TcpNode::prepare({.interfaces = "127.0.0.1"});
        ASSERT_TRUE(node.is_ok());
        const std::string cards[] = {tcp::Card{{address}}.text(), (*node)->card()};
        auto made = (*node)->connect(1, cards, TcpRanks::key);
        ASSERT_TRUE(made.is_ok());
        TcpTransport& rank = **made;
        rank.dedicate(5, 1);
        rank.open_context(5);

        const StreamId stream{5, 0};
        std::vector<std::byte> into(100);
        std::vector<Completion> reported;
        auto poll = [&] {
            Completion done;
            rank.acknowledge(Sleeper::waiter);
            if (rank.poll({&done, 1}) > 0) reported.push_back(done);
        };
        ListPlace hold;
        const Token token{&into, 0};
        ASSERT_EQ(by_list ? rank.dedicated_connections()->hold({0, stream}, false, 1, hold, token)
                          : rank.post_recv({0, stream}, into, token),
                  Posted::pending);
        std::uint64_t name = 1;
        Impostor shared(listener, 0, name, poll);
        EXPECT_EQ(name, 0u) << "the shared connection comes up first";
        shared.send(Frame{FrameKind::welcome, 0, 0, 0}.encoded());
        std::optional<Impostor> answered;
        if (sends != Sends::on_its_own_before_it_looks) {
            answered.emplace(listener, 0, name, poll);
            EXPECT_EQ(name, stream.packed());
        }
        for (int i = 0; i < 1000; ++i) poll();

        Impostor calls((*tcp::Card::parse(cards[1])).addresses.front(), {0, 1, stream.packed()},
                       poll);
        for (int i = 0; i < 1000; ++i) poll();
        Impostor& used = sends == Sends::on_ours ? *answered : calls;
        if (sends == Sends::on_ours)
            used.send(Frame{FrameKind::welcome, 0, 0, stream.packed()}.encoded());
        used.send(Frame{FrameKind::eager, 0, into.size(), stream.packed()}.encoded());
        used.send(bytes_of(into.size(), 1));
        for (const std::int64_t end_ns = now_ns() + patience_ns; reported.empty(); poll())
            ASSERT_LT(now_ns(), end_ns);
        EXPECT_EQ(reported.front().code, WEFT_OK);
        if (by_list) {
            std::array<std::byte, Frame::header_bytes> header;
            const timeval patience{5, 0};
            setsockopt(hold.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            EXPECT_EQ(recv(hold.socket, header.data(), header.size(), MSG_WAITALL), 16);
            EXPECT_EQ(recv(hold.socket, into.data(), into.size(), MSG_WAITALL), 100);
        }
        EXPECT_EQ(into, bytes_of(into.size(), 1));
        rank.hang_up();
    }
}

TEST(CrossedCalls, AreReadWhereThePeerSends) { expect_read_where_the_peer_sends(false); }
TEST(CrossedCalls, AreReadByAListWhereThePeerSends) { expect_read_where_the_peer_sends(true); }

TEST_F(DedicatedConnection, HeaderThatAListFindsForeignIsTheLossOfThePeer) {
    ASSERT_TRUE(until_up());
    Mine& list = hold(1, false);
    ASSERT_TRUE(list.is_done);
    list.is_done = false;
    dedicated(1).fail(list.hold, EPROTO);
    ASSERT_TRUE(until_done(list));
    EXPECT_EQ(list.reported.code, WEFT_BROKEN_TRANSPORT);
    EXPECT_EQ(lost[1], std::vector<weft_status>{WEFT_BROKEN_TRANSPORT});
}

// --- Rendezvous ----------------------------------------------------------------------------------

// From 1000 bytes on messages wait for their receive.
class DedicatedRendezvous : public DedicatedConnection {
  protected:
    DedicatedRendezvous() {
        ranks = TcpRanks(2, {.interfaces = "127.0.0.1",
                             .dedicated_rendezvous = true,
                             .eager_threshold = 1000,
                             .peer_timeout_ns = peer_timeout_ns});
        dedicate(context);
    }
};

TEST_F(DedicatedRendezvous, LargeMessagesWaitForTheirReceive) {
    EXPECT_EQ(dedicated(0).cleared_bytes_min(), 1000u);
    ASSERT_TRUE(until_up());
    Mine& small = send(0, bytes_of(999, 1));
    Mine& large = send(0, bytes_of(1000, 2));
    Mine& behind = send(0, bytes_of(10, 3));
    ASSERT_TRUE(until_done(small));
    poll_for(5'000'000);
    EXPECT_FALSE(large.is_done || behind.is_done);
    EXPECT_TRUE(until([&] { return !at(0).has_work(); })) << "it can only wait";
    Mine& into_small = receive(1, 999);
    poll_for(5'000'000);
    EXPECT_FALSE(large.is_done || behind.is_done);
    Mine& into_large = receive(1, 1000);
    Mine& into_behind = receive(1, 10);
    ASSERT_TRUE(until([&] { return large.is_done && behind.is_done && into_behind.is_done; }));
    EXPECT_EQ(into_small.data, bytes_of(999, 1));
    EXPECT_EQ(into_large.data, bytes_of(1000, 2));
    EXPECT_EQ(into_behind.data, bytes_of(10, 3));
}

TEST_F(DedicatedRendezvous, MessagesInBothDirectionsDoNotWaitForEachOther) {
    constexpr std::size_t count = 6;
    constexpr std::size_t bytes = 300'000;
    Prng random(1);
    for (int time = 0; time < 8; ++time) {
        std::vector<Mine*> received;
        for (std::size_t i = 0; i < count; ++i) {
            for (const Rank rank : {0, 1}) {
                const bool sends_first = random.one_in(2);
                const std::size_t size = i % 3 == 2 ? 8 : bytes;
                if (sends_first) send(rank, bytes_of(size, i + static_cast<std::size_t>(rank)));
                received.push_back(&receive(rank, size));
                if (!sends_first) send(rank, bytes_of(size, i + static_cast<std::size_t>(rank)));
                if (random.one_in(2)) poll();
            }
        }
        ASSERT_TRUE(until(
            [&] { return std::ranges::all_of(mine, [](const auto& m) { return m->is_done; }); }));
        for (std::size_t i = 0; i < received.size(); ++i)
            ASSERT_EQ(received[i]->data,
                      bytes_of(received[i]->data.size(), i / 2 + (i % 2 == 0 ? 1u : 0u)));
    }
}

// Each end may be the executor or a list.
TEST_F(DedicatedRendezvous, MessagesMeetLists) {
    Mine& sent = send(0, bytes_of(5000, 1));
    Mine& list = hold(1, false, 2);
    Mine& ctss = hold_ctss(1, true, 2);
    ASSERT_TRUE(until([&] { return list.is_done && ctss.is_done; }));
    EXPECT_TRUE(until([&] { return waiting_bytes(list) == 16; }));
    poll_for(2'000'000);
    EXPECT_EQ(waiting_bytes(list), 16) << "the header alone";
    const auto give_cts = [&](std::uint16_t number) {
        const Frame::Header header = cts_of(ctss.hold, number).encoded();
        EXPECT_EQ(::send(ctss.hold.socket, header.data(), header.size(), MSG_NOSIGNAL), 16);
    };
    give_cts(0);
    list_receives(list, 0, bytes_of(5000, 1));
    ASSERT_TRUE(until_done(sent));
    // Before its message is posted.
    give_cts(1);
    Mine& second = send(0, bytes_of(6000, 2));
    list_receives(list, 1, bytes_of(6000, 2));
    ASSERT_TRUE(until_done(second));
    dedicated(1).release(list.hold);
    dedicated(1).release(ctss.hold);

    Mine& sends = hold(0, true);
    Mine& awaits = hold_ctss(0, false);
    ASSERT_TRUE(until([&] { return sends.is_done && awaits.is_done; }));
    Mine& received = receive(1, 7000);
    const std::vector<std::byte> cts = list_reads(awaits, 16);
    EXPECT_TRUE(std::ranges::equal(cts, cts_of(awaits.hold, 0).encoded()));
    list_sends(sends, 0, bytes_of(7000, 3));
    ASSERT_TRUE(until_done(received));
    EXPECT_EQ(received.data, bytes_of(7000, 3));
    dedicated(0).release(sends.hold);
    dedicated(0).release(awaits.hold);
    // The next ones are the executor's again.
    Mine& last = send(0, bytes_of(8000, 4));
    Mine& into_last = receive(1, 8000);
    ASSERT_TRUE(until([&] { return last.is_done && into_last.is_done; }));
    EXPECT_EQ(into_last.data, bytes_of(8000, 4));
}

// The receiver of a small message clears nothing: it learns the size from the header. Later messages have their CTSs.
TEST_F(DedicatedRendezvous, ReceivesOfAnotherSizeAreTold) {
    ASSERT_TRUE(until_up());
    std::uint64_t tag = 1;
    for (const bool are_posted : {false, true}) {
        for (const auto& [sent, expected] : {std::pair{5000, 10},
                                             {10, 5000},
                                             {5000, 6000},
                                             {6000, 5000},
                                             {0, 5000},
                                             {5000, 0},
                                             {10, 5000},
                                             {5000, 10}}) {
            SCOPED_TRACE(std::to_string(sent) + " for " + std::to_string(expected));
            Mine* next =
                are_posted ? nullptr : &send(0, bytes_of(static_cast<std::size_t>(sent), 1));
            Mine& received = receive(1, static_cast<std::size_t>(expected));
            Mine& behind = receive(1, 7000);
            if (next == nullptr) next = &send(0, bytes_of(static_cast<std::size_t>(sent), 1));
            Mine& last = send(0, bytes_of(7000, ++tag));
            ASSERT_TRUE(until([&] {
                return received.is_done && behind.is_done && next->is_done && last.is_done;
            }));
            EXPECT_EQ(received.reported.code, WEFT_BROKEN_MESSAGE);
            EXPECT_EQ(received.reported.sent_bytes, sent);
            EXPECT_EQ(received.reported.expected_bytes, expected);
            EXPECT_EQ(behind.reported.code, WEFT_OK);
            EXPECT_EQ(behind.data, bytes_of(7000, tag));
        }
    }
    // No CTS is left over.
    Mine& waits = send(0, bytes_of(5000, 1));
    poll_for(5'000'000);
    EXPECT_FALSE(waits.is_done);
    Mine& received = receive(1, 5000);
    ASSERT_TRUE(until([&] { return waits.is_done && received.is_done; }));
    EXPECT_TRUE(lost[0].empty() && lost[1].empty());
}

TEST_F(DedicatedRendezvous, PeerThatDiesBreaksWhatWaitsForItsCts) {
    ASSERT_TRUE(until_up());
    Mine& sent = send(0, bytes_of(5000, 1));
    Mine& received = receive(0, 5000);
    poll_for(5'000'000);
    at(1).hang_up();
    gone.insert(1);
    ASSERT_TRUE(until([&] { return sent.is_done && received.is_done; }));
    EXPECT_EQ(sent.reported.code, WEFT_BROKEN_RANK);
    EXPECT_EQ(received.reported.code, WEFT_BROKEN_RANK);
    EXPECT_EQ(lost[0], std::vector<weft_status>{WEFT_BROKEN_RANK});
    Mine& later = receive(0, 5000);
    ASSERT_TRUE(until_done(later));
    EXPECT_EQ(later.reported.code, WEFT_BROKEN_RANK);
}

TEST_F(DedicatedRendezvous, WhatAPeerHasSentBeforeItLeavesArrives) {
    ASSERT_TRUE(until_up());
    Mine& received = receive(1, 50'000);
    Mine& sent = send(0, bytes_of(50'000, 1));
    ASSERT_TRUE(until_done(sent));
    gone.insert(0);
    ranks.take(0).reset();
    ASSERT_TRUE(until_done(received));
    EXPECT_EQ(received.data, bytes_of(50'000, 1));
    EXPECT_TRUE(lost[1].empty());
}

TEST_F(DedicatedRendezvous, BytesWithACtsAreTheLossOfThePeer) {
    ASSERT_TRUE(until_up());
    Mine& ctss = hold_ctss(1, true);
    ASSERT_TRUE(until_done(ctss));
    Mine& sent = send(0, bytes_of(5000, 1));
    Frame foreign = cts_of(ctss.hold, 0);
    foreign.bytes = 1;
    const Frame::Header header = foreign.encoded();
    EXPECT_EQ(::send(ctss.hold.socket, header.data(), header.size(), MSG_NOSIGNAL), 16);
    ASSERT_TRUE(until_done(sent));
    EXPECT_EQ(sent.reported.code, WEFT_BROKEN_TRANSPORT);
    EXPECT_EQ(lost[0], std::vector<weft_status>{WEFT_BROKEN_TRANSPORT});
}

// A rank that does not have the context, and is not about to get it, does not take the call.
TEST_F(DedicatedConnection, OnlyContextsThatAreThereHaveOne) {
    for (Rank rank : {0, 1}) at(rank).buffer_unknown(false);
    at(1).dedicate(context + 1, 1);
    at(1).open_context(context + 1);
    Mine& list = hold(1, true, 1, context + 1);
    poll_for(peer_timeout_ns / 8);
    EXPECT_FALSE(list.is_done);
    at(0).dedicate(context + 1, 1);
    at(0).open_context(context + 1);
    ASSERT_TRUE(until_done(list));
    EXPECT_EQ(list.reported.code, WEFT_OK);
}

}  // namespace weft::test::tcp_dedicated_test
