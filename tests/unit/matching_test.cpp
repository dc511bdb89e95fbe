// The values that transports match messages with: reports, contexts, credit, unexpected messages, lanes;
// and that they get by without memory.
#include "base/lane_table.h"
#include "support/failing_new.h"
#include "support/test.h"
#include "transport/matching/contexts.h"
#include "transport/matching/matching_queue.h"
#include "transport/matching/rendezvous.h"
#include "transport/matching/reports.h"

namespace weft::test::matching_test {

int run_of_any;  // has an address

Completion completion(std::uint32_t op) { return {.token = {&run_of_any, op}}; }
std::uint64_t stream(std::uint64_t context) { return StreamId{context, 1}.packed(); }

std::vector<std::uint32_t> ops(Reports& reports, std::size_t room) {
    std::vector<Completion> done(room);
    reports.begin(done);
    done.resize(reports.end());
    std::vector<std::uint32_t> found;
    for (const Completion& one : done) found.push_back(one.token.op);
    return found;
}

// --- Reports -------------------------------------------------------------------------------------

TEST(Reports, GoIntoThePollThatRunsAndTheRestIntoLaterOnes) {
    Reports reports;
    std::array<Completion, 2> done;
    reports.begin(done);
    for (std::uint32_t op = 1; op <= 5; ++op) {
        EXPECT_EQ(reports.is_full(), op > 2);
        reports.add(completion(op), stream(1));
    }
    EXPECT_EQ(reports.end(), 2u);
    EXPECT_EQ(done[0].token.op, 1u);
    EXPECT_EQ(done[1].token.op, 2u);
    EXPECT_TRUE(reports.has_kept());
    EXPECT_EQ(ops(reports, 2), (std::vector<std::uint32_t>{3, 4}));
    EXPECT_EQ(ops(reports, 2), std::vector<std::uint32_t>{5});
    EXPECT_FALSE(reports.has_kept());
}

TEST(Reports, BetweenPollsAreKept) {
    Reports reports;
    EXPECT_EQ(ops(reports, 3).size(), 0u);
    reports.add(completion(7), stream(1));
    EXPECT_TRUE(reports.has_kept());
    EXPECT_EQ(ops(reports, 3), std::vector<std::uint32_t>{7});
}

TEST(Reports, OfAContextThatIsGoneAreForgottenLostPeersAreNot) {
    Reports reports;
    reports.add(completion(1), stream(1));
    reports.add(completion(2), stream(2));
    reports.add({.token = {}, .code = WEFT_BROKEN_RANK, .peer = 3}, 0);
    reports.forget(1);
    reports.forget(0);
    std::array<Completion, 4> done;
    reports.begin(done);
    ASSERT_EQ(reports.end(), 2u);
    EXPECT_EQ(done[0].token.op, 2u);
    EXPECT_EQ(done[1].peer, 3);
}

// Every allocation fails until the end of the scope.
class NoMemory {
  public:
    NoMemory() { Injector::arm_at_all(); }
    ~NoMemory() { Injector::disarm(); }
};

TEST(Reports, ThatWereReservedTakeNoMemory) {
    Reports reports;
    reports.reserve(100);
    {
        NoMemory here;
        for (std::uint32_t op = 1; op <= 99; ++op) reports.add(completion(op), stream(1));
        reports.lose_context(5, 0);
    }
    EXPECT_EQ(ops(reports, 200).size(), 100u);
    reports.add(completion(1), stream(1));
    reports.reserve(100);
    {
        NoMemory here;
        for (std::uint32_t op = 1; op <= 100; ++op) reports.add(completion(op), stream(1));
    }
    EXPECT_EQ(ops(reports, 200).size(), 101u);
}

TEST(Reports, OfALostMessageComeBeforeWhatCompletesAfterIt) {
    Reports reports;
    std::array<Completion, 4> done;
    reports.begin(done);
    reports.add(completion(1), stream(5));
    reports.lose_context(5, 0);
    reports.add(completion(2), stream(5));
    ASSERT_EQ(reports.end(), 1u);
    EXPECT_EQ(done[0].token.op, 1u);
    reports.begin(done);
    ASSERT_EQ(reports.end(), 2u);
    EXPECT_EQ(lost_context(done[0]), 5u);
    EXPECT_EQ(done[1].token.op, 2u);
    // Between two polls, the last of which had completions.
    reports.lose_context(6, 0);
    reports.add(completion(3), stream(6));
    reports.begin(done);
    ASSERT_EQ(reports.end(), 2u);
    EXPECT_EQ(lost_context(done[0]), 6u);
    EXPECT_EQ(done[1].token.op, 3u);
}

TEST(Reports, OfALostMessageComeFirstUntilItsContextIsGone) {
    Reports reports;
    reports.reserve(4);
    reports.add(completion(1), stream(5));
    reports.lose_context(5, 3);
    reports.lose_context(6, 3);
    reports.forget(6);
    std::array<Completion, 4> done;
    reports.begin(done);
    ASSERT_EQ(reports.end(), 2u);
    EXPECT_EQ(lost_context(done[0]), 5u);
    EXPECT_EQ(done[0].code, WEFT_BROKEN_MEMORY);
    EXPECT_EQ(lost_context(done[1]), 0u);
}

// --- Contexts ------------------------------------------------------------------------------------

TEST(Contexts, ThatWereFreedAreWantedWhenTheyAreMadeAgain) {
    Contexts contexts;
    for (int made = 0; made < 3; ++made) {
        ASSERT_TRUE(contexts.open_context(7));
        EXPECT_TRUE(contexts.wants(7));
        contexts.remove(7);
        EXPECT_FALSE(contexts.wants(7));
        contexts.buffer_unknown(made % 2 == 1);
        if (made == 0) contexts.buffer_unknown(true);
    }
}

TEST(Contexts, ThatLostAMessageAreNotWantedAnyMore) {
    Contexts contexts;
    ASSERT_TRUE(contexts.open_context(7));
    EXPECT_TRUE(contexts.wants(7));
    EXPECT_TRUE(contexts.lose(7));
    EXPECT_FALSE(contexts.wants(7));
    EXPECT_FALSE(contexts.lose(7)) << "told twice";
    contexts.buffer_unknown(false);
    EXPECT_FALSE(contexts.wants(7));
}

TEST(Contexts, ThatLostAMessageBeforeTheyWereAdmittedAreRefused) {
    Contexts contexts;
    EXPECT_TRUE(contexts.wants(9));
    EXPECT_FALSE(contexts.lose(9));
    EXPECT_FALSE(contexts.wants(9));
    EXPECT_TRUE(contexts.wants(10));
    EXPECT_FALSE(contexts.open_context(9));
    EXPECT_TRUE(contexts.open_context(10));
    contexts.buffer_unknown(false);
    EXPECT_FALSE(contexts.wants(9));
    EXPECT_TRUE(contexts.wants(10));
}

TEST(Contexts, AreRemovedWithoutMemoryHoweverManyWereLost) {
    Contexts contexts;
    for (std::uint64_t context = 1; context <= 50; ++context)
        ASSERT_TRUE(contexts.open_context(context));
    {
        NoMemory here;
        for (std::uint64_t context = 1; context <= 49; ++context) contexts.remove(context);
        for (std::uint64_t context = 1000; context < 1500; ++context) contexts.lose(context);
    }
    EXPECT_TRUE(contexts.wants(50));
    EXPECT_FALSE(contexts.wants(2000)) << "it may be one that was lost";
    EXPECT_FALSE(contexts.open_context(2000));
    contexts.buffer_unknown(false);
    contexts.buffer_unknown(true);
    EXPECT_TRUE(contexts.open_context(2000));
}

// --- Credit --------------------------------------------------------------------------------------

TEST(Credit, CoversMessagesUpToItsMaximumAndIsRegained) {
    Credit credit(1000);
    EXPECT_FALSE(credit.covers(1000));
    EXPECT_TRUE(credit.covers(1000 - Credit::cost_of(0)));
    credit.spend(400);
    EXPECT_FALSE(credit.covers(500));
    credit.regain(Credit::cost_of(400));
    EXPECT_TRUE(credit.covers(900));
    credit.regain(1'000'000);  // more than was spent: there is no more than the maximum
    EXPECT_TRUE(credit.covers(900));
    EXPECT_FALSE(credit.covers(1000));
}

TEST(Credit, IsGivenBackInQuarters) {
    Credit credit(1000);
    std::vector<std::uint64_t> sent;
    const auto send = [&](std::uint64_t due) {
        sent.push_back(due);
        return true;
    };
    credit.give_back(100, send);
    credit.give_back(149, send);
    EXPECT_TRUE(sent.empty());
    credit.give_back(1, send);
    credit.give_back(0, send);
    EXPECT_EQ(sent, std::vector<std::uint64_t>{250});
}

TEST(Credit, ThatCouldNotBeSentGoesWithTheNext) {
    Credit credit(1000);
    const auto send_nothing = [](std::uint64_t) { return false; };
    std::uint64_t sent = 0;
    const auto send = [&](std::uint64_t due) {
        sent += due;
        return true;
    };
    credit.give_back(300, send_nothing);
    credit.give_back(7, send);
    EXPECT_EQ(sent, 307u);
    credit.give_back(7, send);
    EXPECT_EQ(sent, 307u);
}

// --- What is eager, and what is dropped ----------------------------------------------------------

TEST(Rendezvous, TakesMessagesOfTheThresholdAndThoseWithoutCredit) {
    Credit credit(1000);
    EXPECT_TRUE(is_eager(stream(1), 99, 100, credit));
    EXPECT_FALSE(is_eager(stream(1), 100, 100, credit));
    credit.spend(900);
    EXPECT_FALSE(is_eager(stream(1), 99, 100, credit));
    EXPECT_TRUE(is_eager(stream(0), 99, 100, credit)) << "a failure notice";
    EXPECT_TRUE(is_eager(stream(0), 100, 100, credit)) << "a failure notice";
}

TEST(Credit, OfAllPeersTogetherIsBounded) {
    EXPECT_EQ(Credit::max_among(2), 1u << 20);
    EXPECT_EQ(Credit::max_among(256), 256u << 10);
    EXPECT_EQ(Credit::max_among(100'000), 64u << 10);
}

struct TestPost {
    TestPost* next = nullptr;
    bool is_over = false;
    Outcome outcome{};
    int number = 0;
};
struct TestMessage {
    TestMessage* next = nullptr;
};

TEST(Rendezvous, DropsUnexpectedMessagesOfContextsThatAreNotWanted) {
    using Queue = MatchingQueue<TestPost, TestMessage>;
    LaneTable<Queue> lanes;
    Contexts contexts;
    contexts.buffer_unknown(false);
    ASSERT_TRUE(contexts.open_context(1));
    TestMessage wanted, first, second;
    lanes.find(stream(1)).unexpected.append(&wanted);
    lanes.find(stream(2)).unexpected.append(&first);
    lanes.find(stream(2)).unexpected.append(&second);
    std::vector<TestMessage*> dropped;
    drop_unwanted(lanes, contexts, [&](Queue& lane, TestMessage* message) {
        EXPECT_EQ(lane.stream, stream(2));
        dropped.push_back(message);
    });
    EXPECT_EQ(dropped, (std::vector<TestMessage*>{&first, &second}));
    EXPECT_TRUE(lanes.find(stream(2)).unexpected.empty());
    EXPECT_EQ(lanes.find(stream(1)).unexpected.first, &wanted);
}

// --- Unexpected messages -------------------------------------------------------------------------

struct KeptMessage {
    KeptMessage* next = nullptr;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
};

TEST(UnexpectedStore, KeepsMessagesAndCountsTheirBytes) {
    UnexpectedStore<KeptMessage> store;
    KeptMessage* empty = store.take(0);
    KeptMessage* small = store.take(10);
    KeptMessage* rts = store.take_without_room(1000);
    EXPECT_EQ(empty->data, nullptr);
    EXPECT_EQ(rts->data, nullptr);
    EXPECT_EQ(rts->bytes, 1000u);
    std::fill_n(small->data, 10, std::byte{1});
    EXPECT_EQ(store.bytes(), 10u);
    ASSERT_TRUE(store.make_room(*rts));
    std::fill_n(rts->data, 1000, std::byte{2});
    EXPECT_EQ(store.bytes(), 1010u);
    EXPECT_EQ(small->data[9], std::byte{1});
    for (KeptMessage* message : {empty, small, rts}) store.release(message);
    EXPECT_EQ(store.bytes(), 0u);
    EXPECT_EQ(store.bytes_max(), 1010u);
    EXPECT_EQ(store.taken(), 3u);
}

TEST(UnexpectedStore, WithoutMemoryTakesWhatWasGivenBackOrNothing) {
    UnexpectedStore<KeptMessage> store;
    store.release(store.take(100));
    NoMemory here;
    KeptMessage* again = store.take(90);
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(store.take(100), nullptr);
    EXPECT_EQ(store.take(10'000), nullptr);
    EXPECT_EQ(store.bytes(), 90u);
    KeptMessage* rts = store.take_without_room(10'000);
    ASSERT_NE(rts, nullptr);
    EXPECT_FALSE(store.make_room(*rts));
    store.release(rts);
    store.release(again);
    EXPECT_EQ(store.bytes(), 0u);
}

// --- Lanes ---------------------------------------------------------------------------------------

struct BusyLane {
    std::uint64_t stream = 0;
    bool used = false;
    int value = 0;

    bool idle() const { return value == 0; }
};

TEST(LaneTable, WithoutMemoryFindsItsLanesAndKeepsAPlaceForFailureNotices) {
    LaneTable<BusyLane> lanes;
    NoMemory here;
    std::uint64_t made = 0;
    while (BusyLane* lane = lanes.try_find(made + 1)) lane->value = static_cast<int>(++made);
    EXPECT_GE(made, LaneTable<BusyLane>::size_min * 3 / 4);
    bool threw = false;
    try {
        (void)lanes.find(made + 1);
    } catch (const std::bad_alloc&) {
        threw = true;
    }
    EXPECT_TRUE(threw);
    ASSERT_NE(lanes.try_find(0), nullptr);
    for (std::uint64_t stream = 1; stream <= made; ++stream)
        EXPECT_EQ(lanes.find(stream).value, static_cast<int>(stream));
    EXPECT_EQ(lanes.find_existing(made + 1), nullptr);
}

class MatchingQueueTest : public testing::Test {
  protected:
    MatchingQueueTest() {
        for (int i = 0; i < 4; ++i) {
            posts_[static_cast<std::size_t>(i)].number = i;
            lane_.append_waiting(&posts_[static_cast<std::size_t>(i)]);
        }
    }
    auto reporter() {
        return [this](TestPost* post, const Outcome& how) {
            reported_.emplace_back(post->number, how.code);
        };
    }
    std::size_t end(std::size_t i, weft_status code = WEFT_OK) {
        return lane_.end(&posts_[i], {.code = code}, reporter());
    }
    using Reported = std::vector<std::pair<int, weft_status>>;

    std::array<TestPost, 4> posts_;
    MatchingQueue<TestPost, TestMessage> lane_;
    Reported reported_;
};

TEST_F(MatchingQueueTest, MessagesMeetPostsInOrder) {
    for (TestPost& post : posts_) EXPECT_EQ(lane_.match(), &post);
    EXPECT_EQ(lane_.match(), nullptr);
    TestPost late;
    lane_.append_waiting(&late);
    EXPECT_EQ(lane_.match(), &late);
}

TEST_F(MatchingQueueTest, APostThatEndsEarlyWaitsForThoseBeforeIt) {
    EXPECT_EQ(end(2, WEFT_BROKEN_MESSAGE), 0u);
    EXPECT_EQ(end(1), 0u);
    EXPECT_EQ(reported_, Reported{});
    EXPECT_EQ(end(0), 3u);
    EXPECT_EQ(reported_, (Reported{{0, WEFT_OK}, {1, WEFT_OK}, {2, WEFT_BROKEN_MESSAGE}}));
    EXPECT_FALSE(lane_.idle());
    EXPECT_EQ(end(3), 1u);
    EXPECT_TRUE(lane_.idle());
}

TEST_F(MatchingQueueTest, AllEndAtOnceExceptThoseThatWereOver) {
    end(1);
    lane_.end_all({.code = WEFT_BROKEN_RANK}, reporter());
    EXPECT_EQ(
        reported_,
        (Reported{
            {0, WEFT_BROKEN_RANK}, {1, WEFT_OK}, {2, WEFT_BROKEN_RANK}, {3, WEFT_BROKEN_RANK}}));
    EXPECT_TRUE(lane_.idle());
    EXPECT_EQ(lane_.match(), nullptr);
}

TEST_F(MatchingQueueTest, ForgottenPostsAreFreedAndNotReported) {
    end(3);
    int freed = 0;
    lane_.forget([&](TestPost*) { ++freed; });
    EXPECT_EQ(freed, 4);
    EXPECT_EQ(reported_, Reported{});
    EXPECT_TRUE(lane_.idle());
    TestPost next;
    lane_.append_waiting(&next);
    EXPECT_EQ(lane_.match(), &next);
}

}  // namespace weft::test::matching_test
