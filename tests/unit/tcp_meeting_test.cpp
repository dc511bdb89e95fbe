// How ranks connect, and what happens to strangers at a rank's port: each is dropped and counted, and
// the ranks' messages still arrive. And what a peer can do that has the key but violates the protocol.
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/random.h"
#include "conformance/tcp_world.h"
#include "support/limits.h"
#include "support/test.h"

namespace weft::test::tcp_meeting_test {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Handshake;
using tcp::Hello;
using tcp::Refusal;

Lane lane_to(Rank peer) { return {peer, {1, 0}}; }

std::size_t open_descriptors() {
    DIR* folder = opendir("/proc/self/fd");
    std::size_t count = 0;
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
}

// Ranks of this thread, and what their transports have reported.
class Ranks {
  public:
    explicit Ranks(Rank ranks, tcp::Settings settings = {})
        : count_(ranks), ranks_(ranks, loopback(std::move(settings))), reported_(count()) {
        for (Rank rank = 0; rank < ranks; ++rank) at(rank).open_context(1);
    }

    TcpTransport& at(Rank rank) { return ranks_.at(rank); }
    tcp::Address address(Rank rank) const { return ranks_.address(rank); }
    void hang_up(Rank rank) {
        at(rank).hang_up();
        gone_.insert(rank);
    }

    void poll() {
        std::array<Completion, 16> done;
        for (Rank rank = 0; rank < count_; ++rank) {
            if (gone_.contains(rank)) continue;
            at(rank).acknowledge(Sleeper::waiter);
            const std::size_t n = at(rank).poll(done);
            auto& reported = reported_[static_cast<std::size_t>(rank)];
            reported.insert(reported.end(), done.begin(),
                            done.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }

    // Polls until `what` holds. False: it took longer than 20 s.
    bool until(const std::function<bool()>& what) {
        for (const std::int64_t end_ns = now_ns() + 20'000'000'000; !what(); poll()) {
            if (now_ns() > end_ns) return false;
        }
        return true;
    }

    const std::vector<Completion>& reported(Rank rank) const {
        return reported_[static_cast<std::size_t>(rank)];
    }

    // Every rank sends to every other one, all at once, and all of it arrives.
    void exchange() {
        for (auto& reported : reported_) reported.clear();
        const std::size_t ranks = count();
        std::vector<std::uint64_t> sent(ranks * ranks);
        std::vector<std::uint64_t> received(ranks * ranks);
        std::size_t waited_for = 0;
        for (std::size_t i = 0; i < ranks * ranks; ++i) {
            const auto own = static_cast<Rank>(i / ranks);
            const auto peer = static_cast<Rank>(i % ranks);
            if (own == peer) continue;
            sent[i] = 1000 + i;
            const MutBytes into = std::as_writable_bytes(std::span(&received[i], 1));
            const Bytes from = std::as_bytes(std::span(&sent[i], 1));
            waited_for += at(own).post_recv(lane_to(peer), into, {this, 0}) == Posted::pending;
            waited_for += at(own).post_send(lane_to(peer), from, {this, 1}) == Posted::pending;
        }
        ASSERT_TRUE(until([&] {
            std::size_t reported = 0;
            for (const auto& of_rank : reported_) reported += of_rank.size();
            return reported >= waited_for;
        }));
        for (const auto& of_rank : reported_) {
            for (const Completion& completion : of_rank) ASSERT_EQ(completion.code, WEFT_OK);
        }
        for (std::size_t i = 0; i < ranks * ranks; ++i) {
            if (i / ranks != i % ranks) {
                ASSERT_EQ(received[i], 1000 + i % ranks * ranks + i / ranks);
            }
        }
    }

  private:
    static tcp::Settings loopback(tcp::Settings settings) {
        settings.interfaces = "127.0.0.1";
        return settings;
    }
    std::size_t count() const { return static_cast<std::size_t>(count_); }

    Rank count_;
    TcpRanks ranks_;
    std::vector<std::vector<Completion>> reported_;
    std::set<Rank> gone_;
};

// Somebody at the other end of a socket that is no rank of this test.
class Stranger {
  public:
    explicit Stranger(const tcp::Address& address)
        : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        is_connected_ = connect(fd_.get(), address.get(), address.length) == 0;
    }

    explicit Stranger(Fd fd) : fd_(std::move(fd)), is_connected_(true) {}

    bool is_connected() const { return is_connected_; }
    void send(Bytes bytes) {
        (void)::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    void say_no_more() { shutdown(fd_.get(), SHUT_WR); }

    // What has come, at most so much; nothing and `ended` when the other end has closed.
    std::size_t receive(MutBytes place) {
        const ssize_t n = recv(fd_.get(), place.data(), place.size(), MSG_DONTWAIT);
        ended_ |= n == 0 || (n < 0 && errno != EAGAIN);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    bool has_ended() {
        std::array<std::byte, 256> any;
        while (receive(any) > 0) continue;
        return ended_;
    }

    // Moves a caller's handshake on as far as it goes now, and notes what it says.
    void prove(Handshake& handshake) {
        while (!handshake.to_send().empty()) {
            const Bytes out = handshake.to_send();
            said_.insert(said_.end(), out.begin(), out.end());
            send(out);
            handshake.sent(out.size());
        }
        while (!handshake.wanted().empty()) {
            const std::size_t n = receive(handshake.wanted());
            if (n == 0) return;
            handshake.received(n);
            if (!handshake.to_send().empty()) return prove(handshake);
        }
    }
    const std::vector<std::byte>& said() const { return said_; }

  private:
    Fd fd_;
    bool is_connected_ = false;
    bool ended_ = false;
    std::vector<std::byte> said_;
};

JobKey wrong_key() {
    JobKey key = TcpRanks::key;
    key.back() ^= std::byte{1};
    return key;
}

std::uint64_t refused(TcpTransport& transport, Refusal refusal) {
    return transport.counters().refused[static_cast<std::size_t>(refusal)];
}

class Strangers : public testing::Test {
  protected:
    // Nobody stays, and the ranks get along.
    void TearDown() override {
        EXPECT_TRUE(ranks.until([&] { return ranks.at(0).descriptors() == quiet_descriptors; }));
        ranks.exchange();
        EXPECT_EQ(ranks.at(0).counters().connections, 1u);
    }
    const TcpTransport::Counters& counters() { return ranks.at(0).counters(); }
    void expect_end(Stranger& stranger) {
        EXPECT_TRUE(ranks.until([&] { return stranger.has_ended(); }));
    }

    Ranks ranks{2};
    std::size_t quiet_descriptors = ranks.at(0).descriptors();
};

TEST_F(Strangers, WithGarbageAreDropped) {
    Prng random(1);
    for (int i = 0; i < 50; ++i) {
        Stranger stranger(ranks.address(0));
        std::vector<std::byte> garbage(1 + random.below(300));
        for (std::byte& b : garbage) b = static_cast<std::byte>(random.next());
        garbage[0] = std::byte{'X'};
        stranger.send(garbage);
        expect_end(stranger);
    }
    EXPECT_EQ(refused(ranks.at(0), Refusal::garbage), 50u);
}

TEST_F(Strangers, WithAnotherKeyAreDropped) {
    Stranger stranger(ranks.address(0));
    Handshake handshake = Handshake::caller(wrong_key(), {1, 0, 0});
    ASSERT_TRUE(ranks.until([&] {
        stranger.prove(handshake);
        return handshake.state() == Handshake::State::refused;
    })) << "the rank has proven that it has another key";
    // It goes on regardless.
    stranger.send(std::vector<std::byte>(32));
    expect_end(stranger);
    EXPECT_EQ(refused(ranks.at(0), Refusal::wrong_key), 1u);
}

TEST_F(Strangers, WhoRepeatWhatAPeerSaidAreDropped) {
    std::vector<std::byte> said;
    {
        Ranks others(2);  // of the same job: the key is the same
        Stranger peer(others.address(0));
        Handshake handshake = Handshake::caller(TcpRanks::key, {1, 0, 0});
        ASSERT_TRUE(others.until([&] {
            peer.prove(handshake);
            return handshake.state() == Handshake::State::proven &&
                   others.at(0).counters().connections == 1;
        }));
        said = peer.said();
        others.hang_up(0);
        others.hang_up(1);
    }
    Stranger stranger(ranks.address(0));
    stranger.send(said);
    expect_end(stranger);
    EXPECT_EQ(refused(ranks.at(0), Refusal::wrong_key), 1u);
}

TEST_F(Strangers, WhoHangUpAreCounted) {
    const std::string beginning = "WEFTcall";
    {
        Stranger stranger(ranks.address(0));
        stranger.send(std::as_bytes(std::span(beginning)));
    }
    Stranger half_open(ranks.address(0));
    half_open.send(std::as_bytes(std::span(beginning)));
    half_open.say_no_more();
    expect_end(half_open);
    EXPECT_TRUE(ranks.until([&] { return counters().hung_up == 2; }));
}

TEST_F(Strangers, WhoTakeTheirTimeAreDropped) {
    Stranger stranger(ranks.address(0));
    Handshake handshake = Handshake::caller(wrong_key(), {1, 0, 0});
    const Bytes hello = handshake.to_send();
    std::size_t at = 0;
    std::int64_t next_ns = 0;
    ASSERT_TRUE(ranks.until([&] {
        if (now_ns() > next_ns && at < hello.size()) {
            stranger.send(hello.subspan(at++, 1));
            next_ns = now_ns() + 1'000'000'000;
        }
        return stranger.has_ended();
    }));
    EXPECT_EQ(counters().too_slow, 1u);
}

TEST_F(Strangers, WhoClaimToBeAPeerHoldUpNobody) {
    std::vector<Stranger> strangers;
    std::vector<Handshake> handshakes;
    for (int i = 0; i < 5; ++i) {
        strangers.emplace_back(ranks.address(i % 2));
        handshakes.push_back(Handshake::caller(wrong_key(), {1 - i % 2, i % 2, 0}));
        strangers.back().prove(handshakes.back());
    }
    for (int i = 0; i < 50; ++i) ranks.poll();
    const std::int64_t begin_ns = now_ns();
    ranks.exchange();
    EXPECT_LT(now_ns() - begin_ns, 2'000'000'000) << "it waited for the strangers' deadline";
    // Nobody calls again who is connected.
    const std::uint64_t before = counters().superfluous;  // calls of the ranks that crossed
    Stranger late(ranks.address(0));
    Handshake handshake = Handshake::caller(wrong_key(), {1, 0, 0});
    late.prove(handshake);
    expect_end(late);
    EXPECT_EQ(counters().superfluous, before + 1);
    quiet_descriptors += 1;  // the peer
}

TEST_F(Strangers, InACrowdDoNotKeepPeersOut) {
    std::vector<Stranger> crowd;
    Handshake handshake = Handshake::caller(wrong_key(), {1, 0, 0});
    for (int i = 0; i < 300; ++i) {
        crowd.emplace_back(ranks.address(0));
        crowd.back().send(handshake.to_send().first(20));
    }
    EXPECT_TRUE(ranks.until([&] { return counters().crowded_out > 0; }));
    ranks.exchange();
    quiet_descriptors += 1;  // the peer
}

// --- Peers -----------------------------------------------------------------------------------------

TEST(Meeting, OfAllPairsAtOnceAlwaysWorks) {
    constexpr Rank ranks = 8;
    for (int round = 0; round < 200 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        Ranks all(ranks);
        all.exchange();
        for (Rank rank = 0; rank < ranks; ++rank) {
            // Calls that cross may both be used.
            EXPECT_LE(all.at(rank).counters().connections, 2u * (ranks - 1));
        }
        for (Rank rank = 0; rank < ranks; ++rank) all.hang_up(rank);
    }
}

TEST(Meeting, WorksWithoutADescriptorToSpareOnceStrangersAreGone) {
    Ranks ranks(2);
    const std::size_t before = open_descriptors();
    std::vector<Stranger> strangers;
    for (int i = 0; i < 20; ++i) {
        strangers.emplace_back(ranks.address(1));
        strangers.back().send(std::as_bytes(std::span("WEFT", 4)));
    }
    ASSERT_TRUE(ranks.until([&] { return ranks.at(1).descriptors() >= 5 + 20; }));
    {
        // Rank 0 calls; then there is no descriptor for the connection, unless rank 1 makes room.
        const DescriptorLimit few(1);
        ranks.exchange();
    }
    EXPECT_GT(ranks.at(1).counters().crowded_out, 0u);
    strangers.clear();
    EXPECT_TRUE(ranks.until([&] { return open_descriptors() <= before + 4; }));
}

// The caller has none, or who is called.
TEST(Meeting, WithoutADescriptorForTheConnectionEndsAndSaysWhy) {
    for (const rlim_t calls : {0u, 1u}) {
        SCOPED_TRACE("descriptors for " + std::to_string(calls) + " calls");
        Ranks ranks(2, {.interfaces = "", .call_delay_max_ns = 10'000'000});
        const DescriptorLimit few(calls);
        std::uint64_t value = 0;
        const Bytes data = std::as_bytes(std::span(&value, 1));
        EXPECT_EQ(ranks.at(0).post_send(lane_to(1), data, {&value, 3}), Posted::pending);
        EXPECT_TRUE(ranks.until([&] { return ranks.reported(0).size() == 2; }));
        for (const Completion& completion : ranks.reported(0)) {
            EXPECT_EQ(completion.code, WEFT_BROKEN_MEMORY);
            EXPECT_EQ(completion.peer, 1);
        }
    }
}

// Somebody gives descriptors back while it is tried.
TEST(Meeting, ComesAboutWhenADescriptorIsThereAgain) {
    Ranks ranks(2);
    auto few = std::make_unique<DescriptorLimit>(1);
    std::uint64_t value = 0;
    const Bytes data = std::as_bytes(std::span(&value, 1));
    EXPECT_EQ(ranks.at(0).post_send(lane_to(1), data, {&value, 3}), Posted::pending);
    EXPECT_TRUE(ranks.until([&] { return ranks.at(0).counters().calls > 4; }));
    few.reset();
    EXPECT_TRUE(ranks.until([&] { return !ranks.reported(0).empty(); }));
    EXPECT_EQ(ranks.reported(0).front().code, WEFT_OK);
}

TEST(Meeting, WithWhomNobodyCanHearAnyMoreEnds) {
    Ranks ranks(2);
    Stranger caller(ranks.address(0));
    const DescriptorLimit none(0);
    caller.send(std::as_bytes(std::span("WEFT", 4)));
    EXPECT_TRUE(ranks.until([&] { return caller.has_ended(); }));
}

TEST(Meeting, AheadOfNeedFindsOutThatALowerRankIsDead) {
    Ranks ranks(2);
    ranks.hang_up(0);
    const Status status = ranks.at(1).open_all(now_ns() + 20'000'000'000);
    EXPECT_EQ(status.code, WEFT_REFUSED_STATE);
    EXPECT_STREQ(last_detail(), "rank 0 ended before it was reached");
}

// Rank 0 of two, of which the other is played by a test, which listens itself.
struct RankOfPlayed {
    explicit RankOfPlayed(int backlog, tcp::Settings settings = {}) {
        settings.interfaces = "127.0.0.1";
        std::unique_ptr<TcpNode> node = std::move(*TcpNode::prepare(settings));
        played = tcp::addresses_of_interfaces("127.0.0.1")->front();
        EXPECT_EQ(bind(listener.get(), played.get(), played.length), 0);
        EXPECT_EQ(listen(listener.get(), backlog), 0);
        EXPECT_EQ(getsockname(listener.get(), played.get(), &played.length), 0);
        const std::vector<std::string> cards = {node->card(), tcp::Card{{played}}.text()};
        address = tcp::Card::parse(cards[0])->addresses.front();
        rank = std::move(*node->connect(0, cards, TcpRanks::key));
        rank->open_context(1);
    }

    // Adds what the rank reports.
    void poll() {
        std::array<Completion, 4> done;
        rank->acknowledge(Sleeper::waiter);
        const std::size_t n = rank->poll(done);
        reported.insert(reported.end(), done.begin(),
                        done.begin() + static_cast<std::ptrdiff_t>(n));
    }

    Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    tcp::Address played{};   // where the listener listens,
    tcp::Address address{};  // and the rank
    std::unique_ptr<TcpTransport> rank;
    std::vector<Completion> reported;
};

TEST(Meeting, WithAPeerThatAlwaysHangsUpEnds) {
    RankOfPlayed of(100, {.interfaces = "", .call_delay_max_ns = 10'000'000});
    std::uint64_t value = 0;
    const MutBytes place = std::as_writable_bytes(std::span(&value, 1));
    ASSERT_EQ(of.rank->post_recv(lane_to(1), place, {&value, 3}), Posted::pending);
    for (const std::int64_t end_ns = now_ns() + 60'000'000'000; of.reported.size() < 2;) {
        ASSERT_LT(now_ns(), end_ns);
        of.poll();
        Fd hung_up(accept(of.listener.get(), nullptr, nullptr));
    }
    for (const Completion& completion : of.reported) {
        EXPECT_EQ(completion.code, WEFT_BROKEN_RANK);
        EXPECT_EQ(completion.peer, 1);
    }
}

// Rank 0 of two, which knows several addresses of rank 1.
struct SeveralAddresses {
    explicit SeveralAddresses(bool is_at_the_last) {
        for (Fd& holder : holders) {
            tcp::Address closed = tcp::addresses_of_interfaces("127.0.0.3")->front();
            EXPECT_EQ(bind(holder.get(), closed.get(), closed.length), 0);
            EXPECT_EQ(getsockname(holder.get(), closed.get(), &closed.length), 0);
            closed_addresses.push_back(closed);
        }
        std::unique_ptr<TcpNode> here = std::move(*TcpNode::prepare({.interfaces = "127.0.0.1"}));
        std::unique_ptr<TcpNode> there = std::move(*TcpNode::prepare({.interfaces = "127.0.0.2"}));
        tcp::Card card{.addresses = {closed_addresses[0]}, .others = {closed_addresses[1]}};
        if (is_at_the_last)
            card.others.push_back(tcp::Card::parse(there->card())->addresses.front());
        const std::vector<std::string> cards = {here->card(), card.text()};
        ranks.push_back(std::move(*here->connect(0, cards, TcpRanks::key)));
        ranks.push_back(std::move(*there->connect(1, cards, TcpRanks::key)));
        for (const auto& rank : ranks) rank->open_context(1);
    }

    // What comes first of this rank, while both are polled.
    Completion first_of(std::size_t rank) {
        std::array<Completion, 4> done;
        for (const std::int64_t end_ns = now_ns() + 20'000'000'000; now_ns() < end_ns;) {
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                ranks[i]->acknowledge(Sleeper::waiter);
                if (ranks[i]->poll(done) > 0 && i == rank) return done.front();
            }
        }
        ADD_FAILURE() << "nothing has come within 20 s";
        return {};
    }

    std::array<Fd, 2> holders{Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                              Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    std::vector<tcp::Address> closed_addresses;  // nothing listens there
    std::vector<std::unique_ptr<TcpTransport>> ranks;
};

TEST(Meeting, ComesAboutAtAnotherAddressOfThePeer) {
    SeveralAddresses of(/*is_at_the_last=*/true);
    const std::uint64_t sent = 77;
    std::uint64_t received = 0;
    // Rank 1 must not call, so it posts its receive later.
    ASSERT_EQ(of.ranks[0]->post_send(lane_to(1), std::as_bytes(std::span(&sent, 1)), {&of, 3}),
              Posted::pending);
    EXPECT_EQ(of.first_of(0).code, WEFT_OK);
    EXPECT_EQ(of.ranks[0]->counters().calls, 3u);
    const MutBytes place = std::as_writable_bytes(std::span(&received, 1));
    if (of.ranks[1]->post_recv(lane_to(0), place, {&of, 4}) == Posted::pending) {
        EXPECT_EQ(of.first_of(1).code, WEFT_OK);
    }
    EXPECT_EQ(received, 77u);
}

TEST(Meeting, EndsWhenNothingListensAtAnyAddressOfThePeer) {
    SeveralAddresses of(/*is_at_the_last=*/false);
    const std::uint64_t sent = 77;
    ASSERT_EQ(of.ranks[0]->post_send(lane_to(1), std::as_bytes(std::span(&sent, 1)), {&of, 3}),
              Posted::pending);
    EXPECT_EQ(of.first_of(0).code, WEFT_BROKEN_RANK);
    EXPECT_EQ(of.ranks[0]->counters().calls, 2u) << "each address once";
}

// The peer has accepted the rank's call as well, and sends on that one before it leaves. The rank sees the end of
// the other connection first.
TEST(Meeting, HearsWhatAPeerSaidOnTheOtherOfTwoCallsThatCrossed) {
    RankOfPlayed of(0);
    // One that waits: the rank's call is not answered until it is accepted.
    Stranger waits(of.played);
    ASSERT_TRUE(waits.is_connected());
    std::uint64_t value = 0;
    const MutBytes place = std::as_writable_bytes(std::span(&value, 1));
    ASSERT_EQ(of.rank->post_recv(lane_to(1), place, {&value, 3}), Posted::pending);
    const std::int64_t end_ns = now_ns() + 20'000'000'000;
    auto poll_while = [&](const std::function<bool()>& holds) {
        while (holds() && now_ns() < end_ns) of.poll();
        return now_ns() < end_ns;
    };
    std::optional<Stranger> caller(of.address);
    Handshake calling = Handshake::caller(TcpRanks::key, {1, 0, 0});
    ASSERT_TRUE(poll_while([&] {
        caller->prove(calling);
        return of.rank->counters().connections == 0;
    }));

    const Fd first(accept(of.listener.get(), nullptr, nullptr));
    Fd second;
    ASSERT_TRUE(poll_while([&] {
        second = Fd(accept(of.listener.get(), nullptr, nullptr));
        return !second;
    }));
    Stranger called(std::move(second));
    Handshake answering = Handshake::listener(TcpRanks::key, 1, 2);
    ASSERT_TRUE(poll_while([&] {
        called.prove(answering);
        return answering.state() == Handshake::State::going;
    }));
    ASSERT_EQ(answering.state(), Handshake::State::proven);
    caller.reset();
    ASSERT_TRUE(poll_while([&] { return of.rank->counters().connections > 0; }));

    const std::uint64_t sent = 4711;
    called.send(Frame{FrameKind::welcome, 0, 0, 0}.encoded());
    called.send(Frame{FrameKind::eager, 1, sizeof sent, lane_to(1).stream.packed()}.encoded());
    called.send(std::as_bytes(std::span(&sent, 1)));
    called.send(Frame{FrameKind::bye, 2, 0, 0}.encoded());
    called.say_no_more();
    ASSERT_TRUE(poll_while([&] { return of.reported.empty(); }));
    EXPECT_EQ(value, sent);
    ASSERT_TRUE(poll_while([&] { return of.rank->counters().connections > 0; }));
    of.poll();
    // The loss of a peer that has left is not reported.
    ASSERT_EQ(of.reported.size(), 1u);
    EXPECT_EQ(of.reported.front().code, WEFT_OK);
}

TEST(Meeting, ConnectionsAreNotKeptByAForkedChild) {
    Ranks ranks(2);
    ranks.exchange();
    int ready[2];
    int go_on[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(go_on), 0);
    const pid_t child = fork();
    if (child == 0) {
        UnsharedFd::close_all_in_child();
        close(go_on[1]);
        char byte = 0;
        (void)!write(ready[1], &byte, 1);
        (void)!read(go_on[0], &byte, 1);
        _exit(0);
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    ranks.exchange();  // it has harmed nothing
    std::uint64_t value = 0;
    const MutBytes place = std::as_writable_bytes(std::span(&value, 1));
    ASSERT_EQ(ranks.at(1).post_recv(lane_to(0), place, {&value, 1}), Posted::pending);
    ranks.hang_up(0);
    std::array<Completion, 4> done;
    std::size_t reported = 0;
    for (const std::int64_t end_ns = now_ns() + 20'000'000'000; reported == 0 && now_ns() < end_ns;)
        reported = ranks.at(1).poll(done);
    EXPECT_GT(reported, 0u) << "the child keeps rank 0's connection";
    EXPECT_EQ(done[0].code, WEFT_BROKEN_RANK);
    close(go_on[1]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    for (int fd : {ready[0], ready[1], go_on[0]}) close(fd);
}

// Frames that may come in any order, with sizes that now and then fit what was posted.
Frame random_frame(Prng& random, std::uint16_t sequence) {
    constexpr std::uint64_t sizes[] = {0, 8, 100, 20'000, 200'000, 1 << 20, Frame::bytes_max};
    Frame frame;
    frame.kind = static_cast<FrameKind>(random.one_in(20) ? random.below(16) : 2 + random.below(5));
    frame.sequence = random.one_in(100) ? std::uint16_t{7} : sequence;
    frame.bytes = sizes[random.below(std::size(sizes))];
    const auto context = static_cast<std::uint32_t>(random.one_in(8) ? 9 : random.below(3));
    frame.stream = StreamId{context, static_cast<std::uint32_t>(random.below(3))}.packed();
    return frame;
}

TEST(Meeting, WithAPeerThatSendsNonsenseEndsInItsLoss) {
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng random(seed);
        Ranks ranks(2);
        ranks.hang_up(1);  // it is played here
        TcpTransport& rank = ranks.at(0);
        Stranger peer(ranks.address(0));
        Handshake handshake = Handshake::caller(TcpRanks::key, {1, 0, 0});
        std::vector<Completion> reported;
        auto poll = [&] {
            std::array<Completion, 8> done;
            rank.acknowledge(Sleeper::waiter);
            const std::size_t n = rank.poll(done);
            reported.insert(reported.end(), done.begin(),
                            done.begin() + static_cast<std::ptrdiff_t>(n));
        };
        const std::int64_t end_ns = now_ns() + 20'000'000'000;
        while (rank.counters().connections == 0) {
            ASSERT_LT(now_ns(), end_ns);
            peer.prove(handshake);
            poll();
        }
        if (random.one_in(2)) rank.buffer_unknown(false);
        std::vector<std::byte> buffer(200'000);
        std::size_t posts = 0;
        std::uint16_t sequence = 0;
        std::vector<std::byte> payload(300'000, std::byte{0x5a});
        for (int i = 0; i < 60 && !peer.has_ended(); ++i) {
            if (random.one_in(3)) {
                constexpr std::size_t sizes[] = {0, 8, 100, 20'000, 200'000};
                const MutBytes place = MutBytes(buffer).first(sizes[random.below(5)]);
                const Lane lane{1, {1, static_cast<std::uint32_t>(random.below(3))}};
                const bool sends = random.one_in(2);
                const Posted posted = sends ? rank.post_send(lane, place, {&buffer, 0})
                                            : rank.post_recv(lane, place, {&buffer, 1});
                posts += posted == Posted::pending;
            }
            const Frame frame = random_frame(random, sequence++);
            peer.send(frame.encoded());
            const std::uint64_t bytes = std::min<std::uint64_t>(frame.payload_bytes(), 300'000);
            if (bytes > 0) peer.send(Bytes(payload).first(bytes));
            for (std::uint64_t polls = random.below(4); polls > 0; --polls) poll();
        }
        peer.say_no_more();
        while (rank.counters().connections > 0) {
            ASSERT_LT(now_ns(), end_ns) << "the peer is not lost";
            (void)peer.has_ended();
            poll();
        }
        for (int i = 0; i < 100; ++i) poll();
        // All that was posted has ended, and whatever broke names the peer.
        std::size_t ended = 0;
        for (const Completion& completion : reported) {
            ended += completion.token.run != nullptr;
            if (completion.code == WEFT_OK) continue;
            EXPECT_EQ(completion.peer, 1);
            EXPECT_TRUE(completion.code == WEFT_BROKEN_TRANSPORT ||
                        completion.code == WEFT_BROKEN_RANK ||
                        completion.code == WEFT_BROKEN_MESSAGE)
                << completion.code;
            broken += completion.code == WEFT_BROKEN_TRANSPORT;
        }
        EXPECT_EQ(ended, posts);
        rank.hang_up();
    }
    EXPECT_GT(broken, 50);
}

}  // namespace weft::test::tcp_meeting_test
