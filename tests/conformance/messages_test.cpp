// Sends and receives over every transport: what arrives, in which order, and how they fail. (On
// simulated ranks: tests/spec. What is refused: refused_test.cpp.)
#include "support/test.h"
#include "support/thread_job.h"

namespace weft::test::messages_test {

using Bytes = std::vector<unsigned char>;

class MessagesOver : public EveryThreadJob {};
INSTANTIATE_TEST_SUITE_P(Jobs, MessagesOver,
                         EveryThreadJob::with_engines({EngineKind::manual, EngineKind::thread}),
                         EveryThreadJob::name);

Bytes content(int from, int tag, std::size_t bytes) {
    Bytes all(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        all[i] = static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(from * 50) +
                                            static_cast<std::size_t>(tag));
    return all;
}

// Each rank sends to all, itself too, each size under a tag of its own; the receives are in another
// order, half of them before the sends.
TEST_P(MessagesOver, OfAllSizesMeetByTheirTags) {
    constexpr std::size_t sizes[] = {0, 1, 8, 1000, 5000, 70'000, 400'000};
    constexpr int tags = std::size(sizes);
    constexpr int ranks = 3;
    ThreadJob job(ranks, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        const int own = rank.rank();
        std::vector<Bytes> sent;
        for (int tag = 0; tag < tags; ++tag) sent.push_back(content(own, tag, sizes[tag]));
        std::vector<Bytes> got(ranks * tags);
        std::vector<weft_request> requests;
        const auto receive = [&](int tag) {
            for (int from = 0; from < ranks; ++from) {
                Bytes& into = got[static_cast<std::size_t>(from * tags + tag)];
                into.assign(sizes[tag], 0xee);
                ASSERT_EQ(rank.irecv(into.data(), into.size(), from, tag, rank.world(),
                                     &requests.emplace_back()),
                          WEFT_OK)
                    << last_detail();
            }
        };
        for (int tag = tags - 1; tag >= tags / 2; --tag) receive(tag);
        for (int tag = 0; tag < tags; ++tag) {
            for (int to = 0; to < ranks; ++to) {
                const Bytes& from = sent[static_cast<std::size_t>(tag)];
                ASSERT_EQ(rank.isend(from.data(), from.size(), to, tag, rank.world(),
                                     &requests.emplace_back()),
                          WEFT_OK)
                    << last_detail();
            }
        }
        for (int tag = tags / 2 - 1; tag >= 0; --tag) receive(tag);
        ASSERT_EQ(rank.waitall(requests.size(), requests.data(), nullptr), WEFT_OK)
            << last_detail();
        for (int from = 0; from < ranks; ++from) {
            for (int tag = 0; tag < tags; ++tag)
                ASSERT_EQ(got[static_cast<std::size_t>(from * tags + tag)],
                          content(from, tag, sizes[tag]))
                    << "from " << from << " tag " << tag;
        }
    });
}

// Rank 0 receives them under as many tags, in the opposite order of the sends.
TEST_P(MessagesOver, MayBeTenThousandAtATime) {
    constexpr int messages = 10'000;
    std::vector<std::uint64_t> sent(messages);
    std::iota(sent.begin(), sent.end(), std::uint64_t{100});
    for (const bool is_received_first : {true, false}) {
        // (Most of the time goes into the starts, which are the same.)
        if (!runs_all() && is_received_first != (std::get<1>(GetParam()) == EngineKind::manual))
            continue;
        ThreadJob job(2, job_options(/*may_spin=*/false));
        std::vector<std::uint64_t> values(messages, 7);
        std::vector<weft_request> requests[2];
        const auto start = [&](Rank own) {
            ThreadRank& rank = job.at(own);
            std::vector<weft_request>& mine = requests[static_cast<std::size_t>(own)];
            mine.resize(messages);
            for (int i = 0; i < messages; ++i) {
                const auto at = static_cast<std::size_t>(i);
                if (own == 0) {
                    ASSERT_EQ(rank.irecv(&values[at], 8, 1, i, rank.world(), &mine[at]), WEFT_OK);
                } else {
                    const int tag = messages - 1 - i;
                    ASSERT_EQ(rank.isend(&sent[static_cast<std::size_t>(tag)], 8, 0, tag,
                                         rank.world(), &mine[at]),
                              WEFT_OK);
                }
            }
        };
        if (is_received_first) start(0);
        start(1);
        if (!is_received_first) start(0);
        job.run([&](ThreadRank& rank) {
            std::vector<weft_request>& mine = requests[static_cast<std::size_t>(rank.rank())];
            ASSERT_EQ(rank.waitall(mine.size(), mine.data(), nullptr), WEFT_OK) << last_detail();
        });
        for (std::size_t i = 0; i < messages; ++i) ASSERT_EQ(values[i], 100 + i);
    }
}

// Those of each rank arrive in their order, whether they are large or small.
TEST_P(MessagesOver, FromAnySourceComeInTheOrderOfEachRank) {
    constexpr int ranks = 3;
    for (const std::size_t words : {1u, 30'000u}) {
        const int messages = words == 1 ? 300 : 8;  // of each rank
        ThreadJob job(ranks, job_options(/*may_spin=*/false));
        job.run([&](ThreadRank& rank) {
            std::vector<weft_request> requests;
            std::vector<std::vector<std::uint64_t>> sent;
            for (int i = 0; i < messages; ++i) {
                std::vector<std::uint64_t>& message =
                    sent.emplace_back(words, static_cast<std::uint64_t>(i));
                message.front() = static_cast<std::uint64_t>(rank.rank() * 1000 + i);
            }
            std::vector<std::vector<std::uint64_t>> got;
            std::vector<int> sources;
            if (rank.rank() == 0) {
                sources.assign(static_cast<std::size_t>(ranks * messages), -5);
                got.assign(sources.size(), std::vector<std::uint64_t>(words));
                for (std::size_t i = 0; i < got.size(); ++i) {
                    ASSERT_EQ(rank.irecv_any(got[i].data(), 8 * words, 5, &sources[i], rank.world(),
                                             &requests.emplace_back()),
                              WEFT_OK);
                }
            }
            for (const auto& message : sent)
                ASSERT_EQ(rank.isend(message.data(), 8 * words, 0, 5, rank.world(),
                                     &requests.emplace_back()),
                          WEFT_OK);
            // Each alone: every receive ends a sleep.
            for (weft_request& request : requests)
                ASSERT_EQ(rank.wait(&request), WEFT_OK) << last_detail();
            std::vector<std::uint64_t> next(ranks);
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_TRUE(sources[i] >= 0 && sources[i] < ranks) << i;
                const auto from = static_cast<std::size_t>(sources[i]);
                ASSERT_EQ(got[i].front(), from * 1000 + next[from]);
                ASSERT_EQ(got[i].back(), words == 1 ? got[i].front() : next[from]);
                ++next[from];
            }
        });
    }
}

TEST_P(MessagesOver, MayBePersistentAtOneEndOrBoth) {
    ThreadJob job(2, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        const int other = 1 - rank.rank();
        std::uint64_t sent = 0;
        std::uint64_t got[3] = {};
        int source = -5;
        const auto receive = [&](std::uint64_t& into, int tag, bool takes_any) -> MessageCall {
            return {.data = &into,
                    .count = 1,
                    .type = WEFT_UINT64,
                    .peer = other,
                    .takes_any = takes_any,
                    .tag = tag,
                    .source = takes_any ? &source : nullptr};
        };
        const auto send = [&](int tag) -> MessageCall {
            return {.sends = true,
                    .data = &sent,
                    .count = 1,
                    .type = WEFT_UINT64,
                    .peer = other,
                    .tag = tag};
        };
        weft_request persistent[4];
        ASSERT_EQ(rank.init(receive(got[0], 0, false), rank.world(), &persistent[0]), WEFT_OK);
        ASSERT_EQ(rank.init(receive(got[1], 1, true), rank.world(), &persistent[1]), WEFT_OK);
        ASSERT_EQ(rank.init(send(0), rank.world(), &persistent[2]), WEFT_OK);
        ASSERT_EQ(rank.init(send(2), rank.world(), &persistent[3]), WEFT_OK);
        for (std::uint64_t round = 0; round < 50; ++round) {
            sent = round * 2 + static_cast<std::uint64_t>(rank.rank());
            source = -5;
            weft_request once[2];
            ASSERT_EQ(rank.startall(4, persistent), WEFT_OK) << last_detail();
            ASSERT_EQ(rank.start(receive(got[2], 2, false), rank.world(), &once[0]), WEFT_OK);
            ASSERT_EQ(rank.start(send(1), rank.world(), &once[1]), WEFT_OK);
            ASSERT_EQ(rank.waitall(2, once, nullptr), WEFT_OK) << last_detail();
            ASSERT_EQ(rank.waitall(4, persistent, nullptr), WEFT_OK) << last_detail();
            const std::uint64_t expected = round * 2 + static_cast<std::uint64_t>(other);
            for (const std::uint64_t value : got) ASSERT_EQ(value, expected);
            ASSERT_EQ(source, other);
        }
        for (weft_request& request : persistent) ASSERT_EQ(rank.request_free(&request), WEFT_OK);
    });
}

// Longer and shorter ones, small and large, and of a rank to itself; also from any source.
TEST_P(MessagesOver, OfAnotherSizeBreakTheCommunicatorAndAreNamed) {
    struct Sizes {
        std::size_t sent, expected;
    };
    for (const Rank sender : {1, 0}) {
        for (const bool takes_any : {false, true}) {
            for (const Sizes sizes :
                 {Sizes{16, 8}, Sizes{8, 0}, Sizes{8, 500'000}, Sizes{500'000, 400'000}}) {
                ThreadJob job(2, job_options(/*may_spin=*/false));
                const Bytes sent(sizes.sent);
                Bytes got(sizes.expected + 1, 0xee);
                weft_request receive, send;
                const MessageCall call = {.data = got.data(),
                                          .count = sizes.expected,
                                          .peer = sender,
                                          .takes_any = takes_any,
                                          .tag = 3};
                ASSERT_EQ(job.at(0).start(call, job.at(0).world(), &receive), WEFT_OK);
                ASSERT_EQ(job.at(sender).isend(sent.data(), sent.size(), 0, 3,
                                               job.at(sender).world(), &send),
                          WEFT_OK);
                job.run([&](ThreadRank& rank) {
                    if (rank.rank() == sender) {
                        const weft_status status = rank.wait(&send);
                        EXPECT_TRUE(status == WEFT_OK || status == WEFT_BROKEN_MESSAGE);
                    }
                    if (rank.rank() != 0) return;
                    EXPECT_EQ(rank.wait(&receive), WEFT_BROKEN_MESSAGE);
                    EXPECT_EQ(last_detail(),
                              std::string("receive from ") +
                                  (takes_any ? "any rank" : "rank " + std::to_string(sender)) +
                                  " with tag 3 on world: rank " + std::to_string(sender) +
                                  " of the job sent " + std::to_string(sizes.sent) +
                                  " bytes where " + std::to_string(sizes.expected) +
                                  " were expected; the calls do not match");
                });
                EXPECT_EQ(got.back(), 0xee);
            }
        }
    }
}

TEST_P(MessagesOver, FailWithTheRankThatDies) {
    const auto [over, engine] = GetParam();
    if (over == Over::mpi) GTEST_SKIP() << "its ranks cannot be killed";
    ThreadJob job(3, job_options());
    job.connect();
    ThreadRank& rank = job.at(0);
    const Bytes sent(1'000'000);
    Bytes got[3] = {Bytes(8), Bytes(8), Bytes(8)};
    weft_request requests[4];
    ASSERT_EQ(rank.irecv_any(got[0].data(), 8, 1, nullptr, rank.world(), &requests[0]), WEFT_OK);
    ASSERT_EQ(rank.irecv(got[1].data(), 8, 2, 0, rank.world(), &requests[1]), WEFT_OK);
    ASSERT_EQ(rank.irecv(got[2].data(), 8, 1, 1, rank.world(), &requests[2]), WEFT_OK);
    ASSERT_EQ(rank.isend(sent.data(), sent.size(), 2, 0, rank.world(), &requests[3]), WEFT_OK);
    job.kill(2);
    for (weft_request& request : requests) {
        EXPECT_EQ(rank.wait(&request), WEFT_BROKEN_RANK);
        EXPECT_NE(std::string(last_detail()).find(" on world: rank 2 of the job died or left"),
                  std::string::npos)
            << last_detail();
    }
}

// Its own message is the one that a thread of a rank sleeps for.
TEST_P(MessagesOver, OfAnotherThreadOfTheRankEndASleep) {
    ThreadJob job(2, job_options(/*may_spin=*/false));
    ThreadRank& rank = job.at(0);
    for (const bool takes_any : {false, true}) {
        std::uint64_t got = 0;
        weft_request receive, send;
        const MessageCall call = {.data = &got,
                                  .count = 1,
                                  .type = WEFT_UINT64,
                                  .peer = 0,
                                  .takes_any = takes_any,
                                  .tag = 1};
        ASSERT_EQ(rank.start(call, rank.world(), &receive), WEFT_OK);
        std::thread sleeper([&] { EXPECT_EQ(rank.wait(&receive), WEFT_OK); });
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // most likely it sleeps then
        const std::uint64_t value = 5;
        EXPECT_EQ(rank.isend(&value, 8, 0, 1, rank.world(), &send), WEFT_OK);
        EXPECT_EQ(rank.wait(&send), WEFT_OK);
        sleeper.join();
        EXPECT_EQ(got, 5u);
    }
}

TEST_P(MessagesOver, AreNamedByWaitsThatTimeOut) {
    ThreadJob job(2, job_options());
    job.connect();
    ThreadRank& rank = job.at(0);
    std::uint64_t got[2] = {};
    weft_request requests[2];
    ASSERT_EQ(rank.irecv(&got[0], 8, 1, 7, rank.world(), &requests[0]), WEFT_OK);
    ASSERT_EQ(rank.irecv_any(&got[1], 8, 8, nullptr, rank.world(), &requests[1]), WEFT_OK);
    EXPECT_EQ(rank.wait_until(&requests[0], 0), WEFT_TIMED_OUT);
    EXPECT_STREQ(last_detail(),
                 "receive from rank 1 with tag 7 of 8 bytes on world waits for messages from rank "
                 "1");
    EXPECT_EQ(rank.wait_until(&requests[1], 0), WEFT_TIMED_OUT);
    EXPECT_STREQ(last_detail(),
                 "receive from any rank with tag 8 of 8 bytes on world waits for a message from "
                 "any rank");
    const std::uint64_t value = 3;
    weft_request sends[2];
    for (const int tag : {7, 8})
        ASSERT_EQ(job.at(1).isend(&value, 8, 0, tag, job.at(1).world(), &sends[tag - 7]), WEFT_OK);
    job.run([&](ThreadRank& one) {
        weft_request* const own = one.rank() == 0 ? requests : sends;
        EXPECT_EQ(one.waitall(2, own, nullptr), WEFT_OK);
    });
    EXPECT_EQ(got[0] + got[1], 6u);
}

// With one rank, with two that are each other's neighbours on both sides, and with more.
TEST(MessagesExample, RunsWithAnyNumberOfRanks) {
    for (const int ranks : {1, 2, 5})
        expect_success(surroundings("shm").command({ranks, "examples/example_halo_c"}));
}

}  // namespace weft::test::messages_test
