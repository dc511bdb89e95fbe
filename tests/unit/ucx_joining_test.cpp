// Which ranks the ucx transport connects with: those of the same job, and of the same UCX.
#include <system_error>

#include "support/surroundings.h"
#include "support/test.h"
#include "transport/ucx/connect.h"

namespace weft::test::ucx_joining_test {

using ucx::Card;

// Opened with this transport of UCX's.
std::unique_ptr<UcxNode> node(const ucx::Settings& settings, const char* tls = "tcp") {
    setenv("UCX_TLS", tls, 1);
    Result<std::unique_ptr<UcxNode>> made = UcxNode::prepare(settings, /*only_fabric=*/false);
    unsetenv("UCX_TLS");
    WEFT_ASSERT(made.is_ok());
    return std::move(*made);
}

class UcxJoining : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string absence = ucx_absence("tcp"); !absence.empty())
            GTEST_SKIP() << absence;
        for (auto& one : nodes) {
            one = node(settings);
            cards.push_back(one->card());
        }
    }
    Result<std::unique_ptr<UcxTransport>> connect(Rank rank, const JobKey& key) {
        const std::vector<bool> needed = {rank == 1, rank == 0};
        return nodes[static_cast<std::size_t>(rank)]->connect(rank, cards, key, needed);
    }

    ucx::Settings settings{.goodbye_ns = 50'000'000};
    std::unique_ptr<UcxNode> nodes[2];
    std::vector<std::string> cards;
};

std::size_t poll(UcxTransport& transport) {
    std::array<Completion, 4> done;
    return transport.poll(done);
}

// A mistake gave it an address of this one.
TEST_F(UcxJoining, DropsFramesOfAnotherJob) {
    for (const bool is_same : {true, false}) {
        SCOPED_TRACE(is_same ? "one job" : "two jobs");
        if (!is_same) {
            cards.clear();
            SetUp();
        }
        const auto sender = std::move(*connect(0, {std::byte{1}}));
        const auto receiver = std::move(*connect(1, {is_same ? std::byte{1} : std::byte{2}}));
        sender->open_context(1);
        receiver->open_context(1);
        const std::vector<std::byte> small(8, std::byte{5});
        const std::vector<std::byte> large(1 << 20, std::byte{5});
        std::vector<std::byte> into(large.size());
        const Token token{&settings, 1};
        ASSERT_EQ(receiver->post_recv({0, {1, 0}}, MutBytes(into).first(small.size()), token),
                  Posted::pending);
        ASSERT_EQ(receiver->post_recv({0, {1, 1}}, into, token), Posted::pending);
        ASSERT_NE(sender->post_send({1, {1, 0}}, small, token), Posted::busy);
        ASSERT_NE(sender->post_send({1, {1, 1}}, large, token), Posted::busy);
        std::size_t received = 0;
        const auto is_over = [&] { return received == 2 || receiver->strangers() >= 2; };
        for (int i = 0; i < 1'000'000 && !is_over(); ++i) {
            (void)poll(*sender);
            received += poll(*receiver);
        }
        EXPECT_EQ(received, is_same ? 2u : 0u);
        EXPECT_EQ(receiver->strangers() > 0, !is_same);
        EXPECT_EQ(into[0], is_same ? std::byte{5} : std::byte{0});
        for (const auto& [reason, count] : receiver->usage().turned_away)
            EXPECT_EQ(count, receiver->strangers()) << reason;
    }
}

TEST_F(UcxJoining, RefusesARankOfAnotherUcxByName) {
    Card other = *Card::parse(cards[1]);
    const std::string own_version = other.version;
    other.version = "1.12";
    cards[1] = other.text();
    EXPECT_EQ(connect(0, {}).status().code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(std::string(last_detail()),
              "rank 1 has UCX 1.12, rank 0 has " + own_version + "; expected the same");
    cards[1] = "";
    EXPECT_EQ(connect(0, {}).status().code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(std::string(last_detail()), "rank 1 has the card ''; expected one of UCX");
}

TEST_F(UcxJoining, ConnectsAheadIfItIsSetSo) {
    settings.connects_ahead = true;
    cards.clear();
    SetUp();
    std::optional<Result<std::unique_ptr<UcxTransport>>> ends[2];
    std::thread other([&] { ends[1] = connect(1, {}); });
    ends[0] = connect(0, {});
    other.join();
    for (auto& end : ends) {
        ASSERT_TRUE(end->is_ok()) << end->status().code;
        EXPECT_EQ((**end)->usage().connections, 1u);
        EXPECT_FALSE((**end)->has_work());
    }
    std::thread leaving([&] { ends[1].reset(); });
    ends[0].reset();
    leaving.join();
}

// Descriptors of this process that are timers.
int timers() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error);
        if (target == "anon_inode:[timerfd]") ++count;
    }
    return count;
}

class UcxKeepalive : public UcxJoining {
  protected:
    void SetUp() override {
        if (const std::string absence = ucx_absence("posix"); !absence.empty())
            GTEST_SKIP() << absence;
        for (auto& one : nodes) {
            one = node(settings, "posix");
            cards.push_back(one->card());
        }
    }
    // Of UCX, while two ranks with these cards are connected. (It has one for a worker that keeps peers alive.)
    int timers_when_connected() {
        const int before = timers();
        const auto sender = std::move(*connect(0, {}));
        const auto receiver = std::move(*connect(1, {}));
        constexpr int own = 2;
        sender->open_context(1);
        receiver->open_context(1);
        std::byte byte{5};
        std::byte into{};
        EXPECT_NE(sender->post_send({1, {1, 0}}, Bytes(&byte, 1), {&byte, 1}), Posted::busy);
        EXPECT_EQ(receiver->post_recv({0, {1, 0}}, MutBytes(&into, 1), {&into, 1}),
                  Posted::pending);
        std::size_t done = 0;
        for (int i = 0; i < 1'000'000 && done == 0; ++i) {
            (void)poll(*sender);
            done += poll(*receiver);
        }
        EXPECT_EQ(into, byte);
        const int now = timers();
        return now - before - own;
    }
};

// There, it crashed survivors of a rank that had died (decision 15).
TEST_F(UcxKeepalive, IsOffBetweenRanksOfANode) { EXPECT_EQ(timers_when_connected(), 0); }

TEST_F(UcxKeepalive, IsOnForRanksWhoseProcessesAreNotSeen) {
    for (std::string& text : cards) {
        Card card = *Card::parse(text);
        EXPECT_FALSE(card.addresses_here.empty());
        card.addresses_here.clear();
        text = card.text();
    }
    EXPECT_GT(timers_when_connected(), 0);
}

TEST(UcxKeepaliveOfAPair, IsOffOnlyWhereBothSeeEachOthersProcessesOnOneNode) {
    Card here;
    here.version = "1.13";
    here.processes = "boot:[1]";
    here.node = "boot:[2]";
    here.addresses = {"a"};
    here.addresses_here = {"b"};
    EXPECT_TRUE(ucx::needs_no_keepalive(here, here));
    Card of_other_processes = here;
    of_other_processes.processes = "boot:[3]";
    Card of_other_node = here;
    of_other_node.node = "boot:[4]";
    Card without = here;
    without.addresses_here.clear();
    Card unknown = here;
    unknown.processes = unknown.node = "";
    for (const Card& other : {of_other_processes, of_other_node, without, unknown}) {
        EXPECT_FALSE(ucx::needs_no_keepalive(here, other)) << other.text();
        EXPECT_FALSE(ucx::needs_no_keepalive(other, here)) << other.text();
    }
    EXPECT_FALSE(ucx::needs_no_keepalive(unknown, unknown)) << "of two machines";
    for (const Card& card : {here, without}) {
        const std::optional<Card> parsed = Card::parse(card.text());
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->addresses, card.addresses);
        EXPECT_EQ(parsed->addresses_here, card.addresses_here);
    }
}

// Both ends must say the same, or one would call the other by TCP.
TEST(UcxByAuto, IsForRanksThatBothHaveAFabricAndTheSameUcx) {
    Card fabric;
    fabric.version = "1.13";
    fabric.has_fabric = true;
    Card newer = fabric;
    newer.version = "1.14";
    Card none = fabric;
    none.has_fabric = false;
    EXPECT_TRUE(ucx::suits_auto(fabric, fabric));
    for (const Card& one : {fabric, newer, none}) {
        EXPECT_FALSE(ucx::suits_auto(one, std::nullopt)) << "it has no UCX";
        for (const Card& other : {fabric, newer, none})
            EXPECT_EQ(ucx::suits_auto(one, other), ucx::suits_auto(other, one));
    }
    EXPECT_FALSE(ucx::suits_auto(fabric, newer));
    EXPECT_FALSE(ucx::suits_auto(fabric, none));
    EXPECT_FALSE(ucx::suits_auto(none, none));
}

}  // namespace weft::test::ucx_joining_test
