// Sends and receives on simulated ranks: the seed decides every delay, every reordering and which
// posts are refused as busy. A model says which message each receive may get.
#include "support/in_call.h"
#include "support/test.h"
#include "support/world.h"

namespace weft::test::messages_test {

constexpr Rank any = any_source;
constexpr int tags = 4;
// By tag, so that every receive of a tag fits every message.
constexpr std::size_t words_of_tag[tags] = {2, 0, 40, 3000};

struct Sent {
    Rank to;
    int tag;
    std::vector<std::uint64_t> words;  // the sender, its number among those to `to` with this tag
};
struct Received {
    Rank from;  // or any
    int tag;
    std::vector<std::uint64_t> words;
    int source = -7;
};
// One rank's sends and receives, in the order of their starts.
struct Script {
    std::deque<Sent> sent;
    std::deque<Received> received;
    std::vector<bool> order;  // true: the next of `sent`
};

// For each tag and receiver: receives that name their sources and receives from any source, mixed;
// at the end as many from any source as messages are left. (A receive from any source may take the
// message of a later one that names its source, so each sender sends that many more.)
std::vector<Script> scripts(Rank ranks, Prng& random) {
    std::vector<Script> all(static_cast<std::size_t>(ranks));
    for (Rank to = 0; to < ranks; ++to) {
        std::vector<Received> last;
        std::vector<std::vector<Received>> of_tags(tags);
        for (int tag = 0; tag < tags; ++tag) {
            const std::uint64_t from_any = random.one_in(2) ? random.below(4) : 0;
            std::vector<Received>& mixed = of_tags[static_cast<std::size_t>(tag)];
            std::uint64_t messages = 0;
            for (Rank from = 0; from < ranks; ++from) {
                const std::uint64_t named = random.below(4);
                for (std::uint64_t i = 0; i < named; ++i) mixed.push_back({from, tag, {}});
                Script& sender = all[static_cast<std::size_t>(from)];
                const std::uint64_t sent = named == 0 && from != 0 ? 0 : named + from_any;
                for (std::uint64_t i = 0; i < sent; ++i) {
                    std::vector<std::uint64_t> words(words_of_tag[tag]);
                    if (words.size() >= 2) words[0] = static_cast<std::uint64_t>(from);
                    if (words.size() >= 2) words[1] = i;
                    sender.sent.push_back({to, tag, std::move(words)});
                }
                messages += sent;
            }
            for (std::uint64_t i = 0; i < from_any; ++i) mixed.push_back({any, tag, {}});
            for (std::size_t i = mixed.size(); i > 1; --i)
                std::swap(mixed[i - 1], mixed[random.below(i)]);
            for (std::uint64_t i = mixed.size(); i < messages; ++i) last.push_back({any, tag, {}});
        }
        // The tags interleaved.
        Script& receiver = all[static_cast<std::size_t>(to)];
        std::vector<std::size_t> next(tags);
        const auto left = [&] {
            std::size_t count = 0;
            for (int tag = 0; tag < tags; ++tag)
                count += of_tags[static_cast<std::size_t>(tag)].size() -
                         next[static_cast<std::size_t>(tag)];
            return count;
        };
        while (left() > 0) {
            const auto tag = static_cast<std::size_t>(random.below(tags));
            if (next[tag] < of_tags[tag].size())
                receiver.received.push_back(of_tags[tag][next[tag]++]);
        }
        for (Received& one : last) receiver.received.push_back(std::move(one));
    }
    for (Script& script : all) {
        // Messages of one tag keep their order, as they are numbered; others change places.
        for (int swaps = 0; swaps < 40 && script.sent.size() > 1; ++swaps) {
            const auto at = static_cast<std::size_t>(random.below(script.sent.size() - 1));
            Sent& one = script.sent[at];
            Sent& other = script.sent[at + 1];
            if (one.to != other.to || one.tag != other.tag) std::swap(one, other);
        }
        script.order.assign(script.sent.size(), true);
        script.order.resize(script.sent.size() + script.received.size(), false);
        for (std::size_t i = script.order.size(); i > 1; --i) {
            const auto other = static_cast<std::size_t>(random.below(i));
            const bool swapped = script.order[i - 1];
            script.order[i - 1] = script.order[other];
            script.order[other] = swapped;
        }
    }
    return all;
}

MessageCall call_of(Sent& sent) {
    return {.sends = true,
            .data = sent.words.data(),
            .count = sent.words.size(),
            .type = WEFT_UINT64,
            .peer = sent.to,
            .tag = sent.tag};
}
MessageCall call_of(Received& received) {
    received.words.assign(words_of_tag[received.tag], ~std::uint64_t{0});
    return {.data = received.words.data(),
            .count = received.words.size(),
            .type = WEFT_UINT64,
            .peer = received.from,
            .takes_any = received.from == any,
            .tag = received.tag,
            .source = &received.source};
}

// What a rank received is a possible matching: of each sender and tag, the receives get the
// messages in the order of both.
void check(const Script& script, Rank ranks, const std::string& where) {
    std::map<std::pair<int, Rank>, std::uint64_t> next;  // by tag and sender: the number
    for (const Received& received : script.received) {
        Rank from = received.from;
        if (from == any) {
            from = received.source;
            ASSERT_TRUE(from >= 0 && from < ranks) << where;
        } else {
            ASSERT_EQ(received.source, -7) << where;
        }
        const std::uint64_t number = next[{received.tag, from}]++;
        if (received.words.size() < 2) continue;
        ASSERT_EQ(received.words[0], static_cast<std::uint64_t>(from)) << where;
        ASSERT_EQ(received.words[1], number) << where << " tag " << received.tag;
    }
}

void play(Rank ranks, std::uint64_t seed, bool is_persistent) {
    const std::string where = "ranks " + std::to_string(ranks) + " seed " + std::to_string(seed);
    Prng random(seed * 31 + static_cast<std::uint64_t>(ranks));
    std::vector<Script> all = scripts(ranks, random);
    World world(ranks, seed, {.busy_one_in = seed % 3 == 0 ? 4u : 0u});
    std::vector<std::pair<Rank, Request*>> requests;
    std::vector<std::size_t> done(all.size());
    std::vector<std::size_t> sent(all.size());
    std::vector<std::size_t> received(all.size());
    const auto is_left = [&](std::size_t r) { return done[r] < all[r].order.size(); };
    while (true) {
        std::vector<std::size_t> left;
        for (std::size_t r = 0; r < all.size(); ++r)
            if (is_left(r)) left.push_back(r);
        if (left.empty()) break;
        const std::size_t r = left[random.below(left.size())];
        const auto rank = static_cast<Rank>(r);
        const MessageCall call = all[r].order[done[r]++] ? call_of(all[r].sent[sent[r]++])
                                                         : call_of(all[r].received[received[r]++]);
        {
            InCall in_call(world.process(rank).engine());
            Result<Request*> request = is_persistent ? world.world(rank).make_persistent(call)
                                                     : world.world(rank).start(call);
            ASSERT_TRUE(request.is_ok()) << where << ": " << last_detail();
            if (is_persistent) world.world(rank).start(**request);
            requests.push_back({rank, *request});
        }
        while (random.one_in(3)) world.step();
    }
    for (const weft_status status : world.finish(requests)) ASSERT_EQ(status, WEFT_OK) << where;
    for (const Script& script : all) check(script, ranks, where);
    if (!is_persistent) return;
    for (auto [rank, request] : requests) world.world(rank).free(*request);
}

TEST(Messages, MeetInOrderOfTheirPeersAndTags) {
    for (const Rank ranks : {1, 2, 3, 4}) {
        for (std::uint64_t seed = 0; seed < 150; ++seed) {
            play(ranks, seed, /*is_persistent=*/seed % 5 == 4);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// Collectives go on beside them.
TEST(Messages, NeitherWaitForCollectivesNorHoldThemUp) {
    World world(2, 5);
    std::uint64_t late = 0;
    const auto receive = [&](std::uint64_t& into, int tag, bool from_any) {
        InCall in_call(world.process(0).engine());
        const MessageCall call = {.data = &into,
                                  .count = 1,
                                  .type = WEFT_UINT64,
                                  .peer = 1,
                                  .takes_any = from_any,
                                  .tag = tag};
        Result<Request*> request = world.world(0).start(call);
        EXPECT_TRUE(request.is_ok());
        return *request;
    };
    std::uint64_t later = 0;
    Request* const named = receive(late, 0, false);
    Request* const from_any = receive(later, 1, true);
    const std::vector<weft_status> statuses =
        world.run_all([](Rank) { return Call{.collective = Collective::barrier}; });
    EXPECT_EQ(statuses, std::vector<weft_status>(2, WEFT_OK));
    EXPECT_FALSE(named->is_done());
    EXPECT_FALSE(from_any->is_done());
    std::uint64_t values[2] = {11, 12};
    std::vector<std::pair<Rank, Request*>> requests = {{0, named}, {0, from_any}};
    for (const int tag : {1, 0}) {
        InCall in_call(world.process(1).engine());
        const MessageCall call = {.sends = true,
                                  .data = &values[tag],
                                  .count = 1,
                                  .type = WEFT_UINT64,
                                  .peer = 0,
                                  .tag = tag};
        Result<Request*> request = world.world(1).start(call);
        ASSERT_TRUE(request.is_ok());
        requests.push_back({1, *request});
    }
    for (const weft_status status : world.finish(requests)) EXPECT_EQ(status, WEFT_OK);
    EXPECT_EQ(late, 11u);
    EXPECT_EQ(later, 12u);
}

// A receive from any source, and what waits behind it, end with the communicator.
TEST(Messages, EndWhenARankDies) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        World world(3, seed, {.busy_one_in = seed % 2 == 0 ? 3u : 0u});
        std::uint64_t got[4] = {};
        std::vector<std::pair<Rank, Request*>> requests;
        for (int i = 0; i < 4; ++i) {
            InCall in_call(world.process(0).engine());
            const MessageCall call = {.data = &got[i],
                                      .count = 1,
                                      .type = WEFT_UINT64,
                                      .peer = i % 3,
                                      .takes_any = i % 2 == 0,
                                      .tag = i / 2};
            Result<Request*> request = world.world(0).start(call);
            ASSERT_TRUE(request.is_ok());
            requests.push_back({0, *request});
        }
        world.network().kill(2);
        for (const weft_status status : world.finish(requests))
            ASSERT_EQ(status, WEFT_BROKEN_RANK) << seed;
        EXPECT_NE(std::string(last_detail()).find("rank 2 of the job died or left"),
                  std::string::npos);
        // Nothing can be started any more, and the sentence says what was to be.
        InCall in_call(world.process(0).engine());
        const MessageCall call = {.sends = true, .peer = 1, .tag = 9};
        EXPECT_EQ(world.world(0).start(call).status().code, WEFT_BROKEN_RANK);
        EXPECT_STREQ(last_detail(),
                     "send to rank 1 with tag 9 on world: rank 2 of the job died or left");
    }
}

}  // namespace weft::test::messages_test
