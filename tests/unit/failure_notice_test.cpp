// Why a group broke: a peer's failure notices count before the messages that it gave up. And none is
// lost: neither those that a transport cannot take now, nor those that come before their groups.
#include <malloc.h>

#include "run/executor.h"
#include "schedule/builder.h"
#include "support/test.h"

namespace weft::test::failure_notice_test {

constexpr Rank victim = 2;
constexpr Rank sender = 1;
constexpr std::uint64_t context = 5;

// Delivers the first notice together with a message that was given up, and another one at each later
// poll that finds a receive for it.
class OneNoticeAPoll final : public Transport {
  public:
    explicit OneNoticeAPoll(std::vector<FailureNotice> notices) : notices_(std::move(notices)) {}

    const char* name() const override { return "one notice a poll"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane&, Bytes, Token) override { return Posted::done; }
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override {
        if (lane.stream.context() == context) {
            given_up_ = token;
        } else if (lane.peer == sender) {
            EXPECT_EQ(data.size(), sizeof(FailureNotice));
            place_ = data;
            token_ = token;
        }
        return Posted::pending;
    }
    std::size_t poll(std::span<Completion> done) override {
        std::size_t reported = 0;
        if (!given_up_ && sent_notices_ == 0) return 0;  // nothing has happened yet
        if (!place_.empty() && sent_notices_ < notices_.size()) {
            std::memcpy(place_.data(), &notices_[sent_notices_++], sizeof(FailureNotice));
            place_ = {};
            done[reported++] = {.token = token_, .peer = sender};
        }
        if (given_up_) {
            done[reported++] = {.token = *given_up_, .code = WEFT_BROKEN_RANK, .peer = sender};
            given_up_.reset();
        }
        return reported;
    }
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }
    void cancel_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}

    std::size_t sent_notices() const { return sent_notices_; }

  private:
    std::vector<FailureNotice> notices_;
    std::size_t sent_notices_ = 0;
    MutBytes place_;
    Token token_;
    std::optional<Token> given_up_;
};

// The rank that a receive from `sender` is blamed on, when that rank sent notices of the victim's failure
// in these contexts, in this order, before it gave up the message.
Rank blamed(const std::vector<std::uint32_t>& contexts) {
    std::vector<FailureNotice> notices;
    for (std::uint32_t c : contexts)
        notices.push_back({c, 0, {.code = WEFT_BROKEN_RANK, .rank = victim}});
    OneNoticeAPoll transport(notices);
    Executor executor(0, {&transport}, {nullptr, &transport, &transport});
    Group group;
    group.context = context;
    group.members = {0, sender};
    executor.add_group(group);
    Stream stream(group, 0);
    ScheduleBuilder builder(0, 2);
    builder.recv({Buffer::recv, 0, 8}, 1);
    const Schedule schedule = std::move(*builder.seal());
    weft::Run run(schedule);
    std::byte place[8]{};
    Binding binding;
    binding.recv = place;
    executor.start(run, stream, binding);
    executor.progress();
    EXPECT_TRUE(run.is_done());
    EXPECT_EQ(run.failure().code, WEFT_BROKEN_RANK);
    EXPECT_EQ(transport.sent_notices(), notices.size());
    return run.failure().rank;
}

TEST(FailureNotice, NameTheRankThatIsTheCause) {
    EXPECT_EQ(blamed({context}), victim);
    EXPECT_EQ(blamed({1, context}), victim);
    EXPECT_EQ(blamed({1, 2, 3, context}), victim);
}

TEST(FailureNotice, OfOtherGroupsDoNotExplainAMessage) {
    EXPECT_EQ(blamed({1, 2, 3}), sender);
    EXPECT_EQ(blamed({}), sender);
}

// --- Notices that wait ---------------------------------------------------------------------------

// Takes no post of context 0 for a while: it is busy, or has no memory.
class Reluctant final : public Transport {
  public:
    enum class Mood { willing, busy, without_memory };

    const char* name() const override { return "reluctant"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane&, Bytes data, Token token) override {
        if (Posted posted = answer(); posted == Posted::busy) return posted;
        EXPECT_EQ(data.size(), sizeof(FailureNotice));
        std::memcpy(&sent.emplace_back(), data.data(), data.size());
        if (!completes_later) return Posted::done;
        pending_.push_back(token);
        return Posted::pending;
    }
    Posted post_recv(const Lane&, MutBytes data, Token token) override {
        if (Posted posted = answer(); posted == Posted::busy) return posted;
        place = data;
        token_ = token;
        return Posted::pending;
    }
    std::size_t poll(std::span<Completion> done) override {
        if (!pending_.empty()) {
            done[0] = {.token = pending_.back(), .peer = 1};
            pending_.pop_back();
            return 1;
        }
        if (!next || place.empty()) return 0;
        std::memcpy(place.data(), &*next, sizeof *next);
        next.reset();
        place = {};
        done[0] = {.token = token_, .peer = 1};
        return 1;
    }
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }
    void cancel_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}

    Mood mood = Mood::willing;
    bool completes_later = false;  // what is sent, in a poll
    std::vector<FailureNotice> sent;
    MutBytes place;                     // of the receive that is posted
    std::optional<FailureNotice> next;  // to be delivered

  private:
    Posted answer() const {
        if (mood == Mood::without_memory) throw std::bad_alloc();
        return mood == Mood::busy ? Posted::busy : Posted::done;
    }

    Token token_;
    std::vector<Token> pending_;
};

class WaitingNotice : public testing::TestWithParam<Reluctant::Mood> {};
INSTANTIATE_TEST_SUITE_P(Moods, WaitingNotice,
                         testing::Values(Reluctant::Mood::busy, Reluctant::Mood::without_memory));

TEST_P(WaitingNotice, IsSentAndReceivedLater) {
    Reluctant transport;
    transport.mood = GetParam();
    Executor executor(0, {&transport}, {nullptr, &transport});
    Group group;
    group.context = context;
    group.members = {0, 1};
    executor.add_group(group);
    executor.break_group(group, executor.out_of_memory());
    executor.progress();
    EXPECT_TRUE(transport.sent.empty());
    EXPECT_TRUE(transport.place.empty());
    transport.mood = Reluctant::Mood::willing;
    executor.progress();
    ASSERT_EQ(transport.sent.size(), 1u);
    EXPECT_EQ(transport.sent[0].context, context);
    EXPECT_EQ(transport.sent[0].failure.code, WEFT_BROKEN_MEMORY);
    EXPECT_EQ(transport.sent[0].failure.rank, 0);
    EXPECT_FALSE(transport.place.empty());
    executor.progress();
    EXPECT_EQ(transport.sent.size(), 1u);
}

TEST(FailureNotice, TakesNoMemoryOnceItIsSent) {
    for (const bool completes_later : {false, true}) {
        Reluctant transport;
        transport.completes_later = completes_later;
        Executor executor(0, {&transport}, {nullptr, &transport});
        std::size_t before = 0;
        for (std::uint64_t i = 0; i < 1100; ++i) {
            if (i == 100) before = mallinfo2().uordblks;
            Group group;
            group.context = context + i;
            group.members = {0, 1};
            executor.add_group(group);
            executor.break_group(group, executor.out_of_memory());
            ASSERT_EQ(transport.sent.size(), 1u);
            transport.sent.clear();
            executor.progress();
            executor.remove_group(group);
        }
        EXPECT_LT(mallinfo2().uordblks, before + 100 * sizeof(FailureNotice)) << completes_later;
    }
}

// However many of them come while communicators are made.
TEST(EarlyNotice, BreaksTheGroupThatIsMadeLater) {
    Reluctant transport;
    Executor executor(0, {&transport}, {nullptr, &transport});
    for (std::uint32_t early = 100; early < 140; ++early) {
        transport.next = {early, 0, {.code = WEFT_BROKEN_MEMORY, .rank = 1}};
        executor.progress();
    }
    for (std::uint32_t early : {100u, 139u}) {
        Group group;
        group.context = early;
        group.members = {0, 1};
        executor.add_group(group);
        EXPECT_EQ(group.broken.code, WEFT_BROKEN_MEMORY) << early;
        EXPECT_EQ(group.broken.rank, 1);
        executor.remove_group(group);
    }
    executor.group_decided();
    executor.expect_group();
    Group group;
    group.context = 139;
    group.members = {0, 1};
    executor.add_group(group);
    EXPECT_EQ(group.broken.code, WEFT_OK);
}

// They may be of groups that this rank has freed.
TEST(EarlyNotice, BreaksNoOtherGroupThatIsMadeLater) {
    for (const std::uint32_t groups : {1u, 40u}) {
        Reluctant transport;
        Executor executor(0, {&transport}, {nullptr, &transport});
        for (std::uint32_t i = 0; i < 40; ++i) {
            transport.next = {100 + i % groups, 0, {.code = WEFT_BROKEN_ABORT, .rank = 1}};
            executor.progress();
        }
        Group group;
        group.context = context;
        group.members = {0, 1};
        executor.add_group(group);
        EXPECT_EQ(group.broken.code, WEFT_OK) << groups;
        executor.remove_group(group);
    }
}

// --- Refused calls -------------------------------------------------------------------------------

Failure refusal_of(Rank rank) {
    Failure failure{.code = WEFT_BROKEN_MESSAGE, .rank = rank};
    failure.is_refusal = true;
    return failure;
}

// Rank 0 of two, and what rank 1 tells it.
class RefusedCall : public testing::Test {
  protected:
    RefusedCall() {
        group.context = context;
        group.members = {0, 1};
        executor.add_group(group);
    }
    // Rank 1 has refused this call.
    void hear_of(std::uint64_t call) {
        transport.next = {context, 0, refusal_of(1), true, call};
        executor.progress();
    }

    Reluctant transport;
    Executor executor{0, {&transport}, {nullptr, &transport}};
    Group group;
};

TEST_F(RefusedCall, IsToldByItsNumber) {
    executor.count_call(group);
    executor.refuse_call(group, refusal_of(0));
    ASSERT_EQ(transport.sent.size(), 1u);
    EXPECT_EQ(transport.sent[0].context, context);
    EXPECT_TRUE(transport.sent[0].is_of_call);
    EXPECT_EQ(transport.sent[0].call, 1u);
    EXPECT_EQ(group.broken.code, WEFT_OK);
}

TEST_F(RefusedCall, BreaksTheGroupIfItWasMade) {
    executor.count_call(group);
    hear_of(0);
    EXPECT_EQ(group.broken.code, WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(group.broken.rank, 1);
    ASSERT_EQ(transport.sent.size(), 1u) << "all members hear that the group is broken";
    EXPECT_FALSE(transport.sent[0].is_of_call);
}

TEST_F(RefusedCall, BreaksTheGroupWhenItIsMade) {
    hear_of(1);
    executor.count_call(group);
    EXPECT_EQ(group.broken.code, WEFT_OK);
    executor.count_call(group);
    EXPECT_EQ(group.broken.code, WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(group.broken.rank, 1);
}

TEST_F(RefusedCall, OfAllRanksBreaksNothing) {
    hear_of(0);
    executor.refuse_call(group, refusal_of(0));
    executor.refuse_call(group, refusal_of(0));
    hear_of(1);
    executor.count_call(group);
    EXPECT_EQ(group.broken.code, WEFT_OK);
}

TEST_F(RefusedCall, MayBeToldBeforeTheGroupExists) {
    transport.next = {context + 1, 0, refusal_of(1), true, 0};
    executor.progress();
    Group later;
    later.context = context + 1;
    later.members = {0, 1};
    executor.add_group(later);
    EXPECT_EQ(later.broken.code, WEFT_OK);
    executor.count_call(later);
    EXPECT_EQ(later.broken.code, WEFT_BROKEN_MESSAGE);
    executor.remove_group(later);
}

}  // namespace weft::test::failure_notice_test
