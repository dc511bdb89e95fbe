// Why a group broke: a peer's failure notices count before the messages that it gave up.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "run/executor.h"
#include "schedule/builder.h"

namespace weft::test {
namespace {

constexpr Rank victim = 2;
constexpr Rank sender = 1;
constexpr std::uint32_t context = 5;

// Delivers the first notice together with a message that was given up, and another one at each later
// poll that finds a receive for it.
class OneNoticeAPoll final : public Transport {
  public:
    explicit OneNoticeAPoll(std::vector<FailureNotice> notices) : notices_(std::move(notices)) {}

    const char* name() const override { return "one notice a poll"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane&, Bytes, Token) override { return Posted::done; }
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override {
        if (lane.stream.context == context) {
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
    void abandon(std::uint32_t) override {}
    void retire(std::uint32_t) override {}
    void admit(std::uint32_t) override {}
    void keep_early(bool) override {}

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

}  // namespace
}  // namespace weft::test
