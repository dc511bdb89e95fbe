// Strangers at the ports of a running job change none of its results, and each is turned away within
// its deadline: random bytes, another key, replays, claims to be a rank, connections that end at
// once, say nothing or a byte a second, and a port scan.
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"
#if WEFT_HAS_TCP
#include "tcp/handshake.h"

namespace weft::test::hostile_test {

using tcp::Handshake;

constexpr Rank ranks = 3;
constexpr std::int64_t second_ns = 1'000'000'000;
// A stranger has three seconds, and what the machine takes to get to it.
constexpr std::int64_t patience_ns = 20 * second_ns;

Fd connection_to(int port) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    return fd;
}

// One connection of somebody who is not of the job.
class Stranger {
  public:
    enum class Kind { garbage, wrong_key, replay, closes, slow, silent };
    static constexpr int kinds = 6;

    Stranger(Kind kind, int port, Prng& random)
        : kind_(kind), fd_(connection_to(port)), begin_ns_(now_ns()) {
        JobKey key;
        for (std::byte& b : key) b = static_cast<std::byte>(random.next());
        // Mostly it says that it is a rank of this job.
        const auto from = static_cast<Rank>(random.below(ranks + 1));
        handshake_ = Handshake::caller(key, {from, static_cast<Rank>(random.below(ranks)), 0});
        const Bytes hello = handshake_->to_send();
        if (kind == Kind::garbage) {
            text_.resize(1 + random.below(400));
            for (std::byte& b : text_) b = static_cast<std::byte>(random.next());
        } else if (kind == Kind::replay) {
            text_.assign(hello.begin(), hello.end());
            text_.resize(hello.size() + 32, std::byte{1});
        } else if (kind == Kind::slow) {
            text_.assign(hello.begin(), hello.end());
        }
        if (kind != Kind::slow) next_ns_ = 0;
    }

    Kind kind() const { return kind_; }
    std::int64_t age_ns() const { return now_ns() - begin_ns_; }

    // False: the rank has ended it, or it has ended itself.
    bool go_on() {
        if (kind_ == Kind::closes) return false;
        if (kind_ == Kind::wrong_key) {
            send_some(handshake_->to_send(), [&](std::size_t n) { handshake_->sent(n); });
            if (handshake_->state() == Handshake::State::refused) send_some(proof_, [](auto) {});
        } else if (kind_ == Kind::slow) {
            if (now_ns() >= next_ns_ && said_ < text_.size()) {
                send_some(Bytes(text_).subspan(said_, 1), [&](std::size_t n) { said_ += n; });
                next_ns_ = now_ns() + second_ns;
            }
        } else {
            send_some(Bytes(text_).subspan(said_), [&](std::size_t n) { said_ += n; });
        }
        std::array<std::byte, 256> any;
        const MutBytes place = kind_ == Kind::wrong_key && !handshake_->wanted().empty()
                                   ? handshake_->wanted()
                                   : MutBytes(any);
        const ssize_t n = recv(fd_.get(), place.data(), place.size(), MSG_DONTWAIT);
        if (n > 0 && place.data() != any.data()) handshake_->received(static_cast<std::size_t>(n));
        return n > 0 || (n < 0 && (errno == EAGAIN || errno == ENOTCONN));
    }

  private:
    template <class Sent>
    void send_some(Bytes bytes, Sent sent) {
        if (bytes.empty()) return;
        const ssize_t n = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) sent(static_cast<std::size_t>(n));
    }

    Kind kind_;
    Fd fd_;
    std::int64_t begin_ns_;
    std::int64_t next_ns_ = 0;
    std::optional<Handshake> handshake_;
    std::vector<std::byte> text_;
    std::vector<std::byte> proof_ = std::vector<std::byte>(32);
    std::size_t said_ = 0;
};

class Hostile : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Hostile, testing::Values("manual", "thread", "kernel"));

TEST_P(Hostile, ConnectionsChangeNothing) {
    if (const std::string absence = absence_of(GetParam()); !absence.empty())
        GTEST_SKIP() << absence;
    constexpr int connections = 5000;   // of each engine's job
    constexpr int before_start = 1000;  // of these
    constexpr std::size_t at_once = 400;
    Folder folder;
    const std::string build = WEFT_BUILD_DIR;
    ChildProcess job("WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo " + settings_of(GetParam()) + " " +
                     build + "/weft run --timeout 100 -n " + std::to_string(ranks) + " " + build +
                     "/tests/fault/hostile_program " + (folder / ""));
    std::vector<int> ports;
    for (Rank rank = 0; rank < ranks; ++rank) {
        const std::string file = folder / ("port." + std::to_string(rank));
        ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(file); }));
        ports.push_back(std::stoi(content(file)));
        ASSERT_NE(ports.back(), 0);
    }

    Prng random(4);
    std::deque<Stranger> strangers;
    int most_ended_themselves = 0;
    // Every stranger gets its turn; who was turned away goes.
    auto go_around = [&] {
        for (std::size_t n = strangers.size(); n > 0; --n) {
            Stranger stranger = std::move(strangers.front());
            strangers.pop_front();
            if (stranger.go_on()) strangers.push_back(std::move(stranger));
        }
    };
    for (int i = 0; i < connections; ++i) {
        if (i == before_start) {
            std::ofstream(folder / "go") << std::flush;
            for (Rank rank = 0; rank < ranks; ++rank) {
                const std::string file = folder / ("met." + std::to_string(rank));
                ASSERT_TRUE(becomes_true([&] {
                    go_around();
                    return std::filesystem::exists(file);
                })) << "the ranks do not meet";
            }
        }
        const auto kind = static_cast<Stranger::Kind>(i % Stranger::kinds);
        strangers.emplace_back(kind, ports[random.below(ports.size())], random);
        if (i % 50 == 0) connection_to(ports[0] - 100 + i / 50);  // a scan
        go_around();
        if (strangers.size() < at_once) continue;
        usleep(500);  // on a busy machine, ranks have not had a turn yet
        go_around();
        if (strangers.size() < at_once) continue;
        strangers.pop_front();
        ++most_ended_themselves;
    }
    // Nobody is kept. The operating system itself keeps those who say nothing for a while.
    std::erase_if(strangers, [](const Stranger& s) { return s.kind() == Stranger::Kind::silent; });
    while (!strangers.empty()) {
        go_around();
        for (const Stranger& stranger : strangers) {
            ASSERT_LT(stranger.age_ns(), patience_ns)
                << "a stranger of kind " << static_cast<int>(stranger.kind()) << " is still there";
        }
        usleep(1000);
    }
    EXPECT_LT(most_ended_themselves, connections / 2);
    std::ofstream(folder / "stop") << std::flush;
    job.finish();
    EXPECT_EQ(job.status, 0) << job.out << job.err;
    EXPECT_EQ(sorted_lines(job.out).size(), std::size_t{ranks}) << job.out;
}

}  // namespace weft::test::hostile_test
#endif
