// Completing several requests: test and wait for one, any, some and all of them, with null,
// inactive and nonblocking ones side by side; deadlines; threads of one rank beside each other.
#include "base/clock.h"
#include "support/test.h"
#include "support/thread_job.h"
#include "weft/collective.h"

namespace weft::test::completion_test {

constexpr std::int64_t ms = 1'000'000;

const Call barrier{.collective = Collective::barrier};

struct Answer {
    weft_status status;
    std::size_t number;  // the index, or how many
    std::vector<std::size_t> indices;
    std::vector<weft_status> statuses;
};

Answer any(ThreadRank& rank, std::span<weft_request> requests, bool blocks) {
    Answer answer{WEFT_OK, 77, {}, {}};
    answer.status = blocks ? rank.waitany(requests.size(), requests.data(), &answer.number)
                           : rank.testany(requests.size(), requests.data(), &answer.number);
    return answer;
}

Answer some(ThreadRank& rank, std::span<weft_request> requests, bool blocks) {
    Answer answer{WEFT_OK, 0, std::vector<std::size_t>(requests.size()),
                  std::vector<weft_status>(requests.size())};
    answer.status = blocks ? rank.waitsome(requests.size(), requests.data(), &answer.number,
                                           answer.indices.data(), answer.statuses.data())
                           : rank.testsome(requests.size(), requests.data(), &answer.number,
                                           answer.indices.data(), answer.statuses.data());
    std::size_t n = answer.number == WEFT_NONE ? 0 : answer.number;
    answer.indices.resize(n);
    answer.statuses.resize(n);
    return answer;
}

weft_status all(ThreadRank& rank, std::span<weft_request> requests, Engine::Patience patience,
                bool blocks = true) {
    return blocks
               ? rank.waitall_until(requests.size(), requests.data(), nullptr, patience.deadline_ns)
               : rank.testall(requests.size(), requests.data(), nullptr);
}

// Null, an inactive one, an active persistent one, and two nonblocking ones: barriers.
struct Mixture {
    explicit Mixture(ThreadRank& rank) {
        EXPECT_EQ(rank.init(barrier, &requests[1]), WEFT_OK);
        EXPECT_EQ(rank.init(barrier, &requests[2]), WEFT_OK);
        inactive = requests[1];
        persistent = requests[2];
    }
    void start_all(ThreadRank& rank) {
        ASSERT_EQ(rank.start(&requests[2]), WEFT_OK);
        ASSERT_EQ(rank.ibarrier(&requests[3]), WEFT_OK);
        ASSERT_EQ(rank.ibarrier(&requests[4]), WEFT_OK);
    }
    std::vector<weft_request> requests = std::vector<weft_request>(5, WEFT_REQUEST_NULL);
    weft_request inactive, persistent;
    std::vector<weft_request> ended() const {
        return {WEFT_REQUEST_NULL, inactive, persistent, WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
    }
};

constexpr const char* only_in_calls = "UCX sends nothing while its rank makes no calls";

class Complete : public EveryThreadJob {
  protected:
    static bool sends_only_in_calls() {
        return std::get<0>(GetParam()) == Over::ucx &&
               std::get<1>(GetParam()) == EngineKind::manual;
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Complete,
                         EveryThreadJob::with_engines({EngineKind::manual, EngineKind::thread,
                                                       EngineKind::kernel}),
                         EveryThreadJob::name);

// Sentences name exactly who waits for whom if messages wait for their receives. A kernel engine's
// messages are in sockets, or wait for a connection.
class CompleteLate : public Complete {};
INSTANTIATE_TEST_SUITE_P(Jobs, CompleteLate,
                         EveryThreadJob::with_engines({EngineKind::manual, EngineKind::thread}),
                         EveryThreadJob::name);

TEST_P(Complete, NothingWhereNoneIsActive) {
    ThreadJob job(2, job_options());
    ThreadRank& rank = job.at(0);
    weft_request inactive = WEFT_REQUEST_NULL;
    ASSERT_EQ(rank.init(barrier, &inactive), WEFT_OK);
    std::vector<weft_request> requests{WEFT_REQUEST_NULL, inactive};
    for (bool blocks : {false, true}) {
        EXPECT_EQ(any(rank, requests, blocks).status, WEFT_OK);
        EXPECT_EQ(any(rank, requests, blocks).number, WEFT_NONE);
        EXPECT_EQ(any(rank, {}, blocks).number, WEFT_NONE);
        EXPECT_EQ(some(rank, requests, blocks).status, WEFT_OK);
        EXPECT_EQ(some(rank, requests, blocks).number, WEFT_NONE);
        EXPECT_EQ(all(rank, requests, {}, blocks), WEFT_OK);
    }
    EXPECT_EQ(requests[1], inactive);
}

TEST_P(Complete, NothingWhilePending) {
    ThreadJob job(2, job_options());
    Mixture mixture(job.at(0));
    mixture.start_all(job.at(0));
    const std::vector<weft_request> before = mixture.requests;
    EXPECT_EQ(any(job.at(0), mixture.requests, false).status, WEFT_PENDING);
    EXPECT_EQ(some(job.at(0), mixture.requests, false).status, WEFT_PENDING);
    EXPECT_EQ(all(job.at(0), mixture.requests, {}, false), WEFT_PENDING);
    EXPECT_EQ(mixture.requests, before);
}

TEST_P(Complete, AllOrNone) {
    ThreadJob job(2, job_options());
    Mixture mixture(job.at(0));
    Mixture other(job.at(1));
    mixture.start_all(job.at(0));
    const std::vector<weft_request> before = mixture.requests;
    // The other rank has entered two of the three.
    ASSERT_EQ(job.at(1).start(&other.requests[2]), WEFT_OK);
    ASSERT_EQ(job.at(1).ibarrier(&other.requests[3]), WEFT_OK);
    std::int64_t deadline = now_ns() + 20'000 * ms;
    while (job.at(0).process().engine().finished() < 2 ||
           job.at(1).process().engine().finished() < 2) {
        ASSERT_EQ(all(job.at(0), mixture.requests, {}, false), WEFT_PENDING);
        EXPECT_EQ(all(job.at(0), mixture.requests, {.deadline_ns = 1}), WEFT_TIMED_OUT);
        (void)all(job.at(1), other.requests, {.deadline_ns = 1});
        ASSERT_LT(now_ns(), deadline);
    }
    EXPECT_EQ(all(job.at(0), mixture.requests, {}, false), WEFT_PENDING);
    EXPECT_EQ(mixture.requests, before);
    ASSERT_EQ(job.at(1).ibarrier(&other.requests[4]), WEFT_OK);
    weft_status status = WEFT_PENDING;
    while (status == WEFT_PENDING) {
        status = all(job.at(0), mixture.requests, {}, false);
        (void)all(job.at(1), other.requests, {}, false);
        ASSERT_LT(now_ns(), deadline);
    }
    EXPECT_EQ(status, WEFT_OK);
    EXPECT_EQ(mixture.requests, mixture.ended());
}

TEST_P(Complete, OneByOne) {
    ThreadJob job(3, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        Mixture mixture(rank);
        for (int round = 0; round < 30; ++round) {
            mixture.start_all(rank);
            std::vector<std::size_t> seen;
            const bool blocks = round % 3 != 0;
            while (true) {
                Answer answer = any(rank, mixture.requests, blocks);
                if (answer.status == WEFT_PENDING) continue;
                ASSERT_EQ(answer.status, WEFT_OK) << last_detail();
                if (answer.number == WEFT_NONE) break;
                seen.push_back(answer.number);
            }
            std::ranges::sort(seen);
            EXPECT_EQ(seen, (std::vector<std::size_t>{2, 3, 4}));
            EXPECT_EQ(mixture.requests, mixture.ended());
        }
    });
}

TEST_P(Complete, SomeAtATime) {
    ThreadJob job(3, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        Mixture mixture(rank);
        for (int round = 0; round < 30; ++round) {
            mixture.start_all(rank);
            std::vector<std::size_t> seen;
            const bool blocks = round % 3 != 0;
            while (true) {
                Answer answer = some(rank, mixture.requests, blocks);
                if (answer.status == WEFT_PENDING) continue;
                ASSERT_EQ(answer.status, WEFT_OK) << last_detail();
                if (answer.number == WEFT_NONE) break;
                ASSERT_GT(answer.number, 0u);
                EXPECT_TRUE(std::ranges::is_sorted(answer.indices));
                for (weft_status status : answer.statuses) EXPECT_EQ(status, WEFT_OK);
                seen.insert(seen.end(), answer.indices.begin(), answer.indices.end());
            }
            std::ranges::sort(seen);
            EXPECT_EQ(seen, (std::vector<std::size_t>{2, 3, 4}));
            EXPECT_EQ(mixture.requests, mixture.ended());
        }
    });
}

// --- Deadlines -----------------------------------------------------------------------------------

TEST_P(CompleteLate, ADeadlineEndsTheWaitAndNamesTheLateRanks) {
    if (sends_only_in_calls()) GTEST_SKIP() << only_in_calls;
    ThreadJob job(4, job_options());
    job.connect();
    weft_request requests[4];
    for (Rank rank : {0, 1}) {
        ASSERT_EQ(job.at(rank).ibarrier(&requests[rank]), WEFT_OK);
    }
    const auto detail = [&] { return detail_of_late_ranks(std::get<0>(GetParam())); };
    // Rank 0 waits for rank 3 first, then for rank 2.
    EXPECT_EQ(all(job.at(0), {&requests[0], 1}, {.deadline_ns = now_ns() + 30 * ms}),
              WEFT_TIMED_OUT);
    EXPECT_EQ(detail(), "barrier of 0 bytes on world waits for messages from ranks 2, 3");
    ASSERT_EQ(job.at(3).ibarrier(&requests[3]), WEFT_OK);
    EXPECT_EQ(all(job.at(0), {&requests[0], 1}, {.deadline_ns = now_ns() + 30 * ms}),
              WEFT_TIMED_OUT);
    EXPECT_EQ(detail(), "barrier of 0 bytes on world waits for messages from rank 2");
    // Nothing is lost.
    ASSERT_EQ(job.at(2).ibarrier(&requests[2]), WEFT_OK);
    std::vector<std::thread> waiting;
    for (Rank rank : {0, 1, 2, 3}) {
        waiting.emplace_back([&, rank] {
            EXPECT_EQ(
                all(job.at(rank), {&requests[rank], 1}, {.deadline_ns = now_ns() + 20'000 * ms}),
                WEFT_OK);
        });
    }
    for (std::thread& thread : waiting) thread.join();
}

TEST_P(CompleteLate, ADeadlineNamesAHandfulOfWaits) {
    ThreadJob::Options options = job_options();
    // One message, too large to be on its way before it is taken.
    ASSERT_TRUE(options.selector.force(Collective::bcast, "binomial").is_ok());
    ThreadJob job(7, std::move(options));
    job.connect();
    std::vector<std::int64_t> values(7 * 100'000);
    weft_request requests[3] = {};
    ASSERT_EQ(job.at(0).iallgather(WEFT_IN_PLACE, values.data(), 1, WEFT_INT64, &requests[0]),
              WEFT_OK);
    ASSERT_EQ(job.at(0).init({.collective = Collective::bcast,
                              .recv_buf = values.data() + 100,
                              .count = 100'000,
                              .type = WEFT_INT64},
                             &requests[1]),
              WEFT_OK);
    ASSERT_EQ(job.at(0).start(&requests[1]), WEFT_OK);
    EXPECT_EQ(all(job.at(0), requests, {.deadline_ns = 0}), WEFT_TIMED_OUT);
    const std::string detail = last_detail();
    EXPECT_EQ(detail.find("allgather of 8 bytes on world waits for messages from rank"), 0u)
        << detail;
    EXPECT_NE(detail.find("; persistent bcast of 800000 bytes on world has messages for rank"),
              std::string::npos)
        << detail;
    EXPECT_EQ(detail.substr(detail.size() - 8), " to take") << detail;
}

// A broadcast in many segments is late in the midst of its repeated block, and at its end.
TEST_P(Complete, ADeadlineNamesTheLateRankOfAPipeline) {
    if (sends_only_in_calls()) GTEST_SKIP() << only_in_calls;
    ThreadJob::Options options = job_options();
    ASSERT_TRUE(options.selector.force(Collective::bcast, "chain:segment=8,window=3").is_ok());
    ThreadJob job(2, std::move(options));
    job.connect();
    std::vector<std::int64_t> from(50, 9);
    std::vector<std::int64_t> into(50);
    weft_request late;
    weft_request request;
    ASSERT_EQ(job.at(1).ibcast(into.data(), into.size(), WEFT_INT64, 0, &request), WEFT_OK);
    EXPECT_EQ(all(job.at(1), {&request, 1}, {.deadline_ns = now_ns() + 20 * ms}), WEFT_TIMED_OUT);
    EXPECT_STREQ(last_detail(), "bcast of 400 bytes on world waits for messages from rank 0");
    ASSERT_EQ(job.at(0).ibcast(from.data(), from.size(), WEFT_INT64, 0, &late), WEFT_OK);
    EXPECT_EQ(job.at(0).wait(&late), WEFT_OK);
    EXPECT_EQ(all(job.at(1), {&request, 1}, {.deadline_ns = now_ns() + 20'000 * ms}), WEFT_OK);
    EXPECT_EQ(into, from);
}

// A rank that relays large segments to a late rank still waits for the segments that have no room.
TEST_P(CompleteLate, ADeadlineNamesBothNeighboursOfARelay) {
    ThreadJob::Options options = job_options();
    ASSERT_TRUE(options.selector.force(Collective::bcast, "chain:segment=100000,window=2").is_ok());
#if WEFT_HAS_TCP
    options.tcp.eager_threshold = 16 * 1024;  // segments wait for who is late
#endif
    ThreadJob job(3, std::move(options));
    job.connect();
    std::vector<std::int64_t> values[3];
    weft_request requests[3];
    auto start_bcast = [&](Rank rank) {
        auto r = static_cast<std::size_t>(rank);
        values[r].assign(125'000, rank == 0 ? 3 : 0);
        ASSERT_EQ(job.at(rank).ibcast(values[r].data(), 125'000, WEFT_INT64, 0, &requests[r]),
                  WEFT_OK);
    };
    start_bcast(0);
    start_bcast(1);
    const std::string expected =
        "bcast of 1000000 bytes on world waits for messages from rank 0 and has messages for rank "
        "2 to "
        "take";
    const std::int64_t give_up = now_ns() + 20'000 * ms;
    std::string detail;
    while (detail != expected && now_ns() < give_up) {
        for (Rank rank : {0, 1}) {
            ASSERT_EQ(all(job.at(rank), {&requests[rank], 1}, {.deadline_ns = now_ns() + ms}),
                      WEFT_TIMED_OUT);
            detail = last_detail();
        }
    }
    EXPECT_EQ(detail, expected);
    start_bcast(2);
    std::vector<std::thread> waiting;
    for (Rank rank : {0, 1, 2}) {
        waiting.emplace_back([&, rank] {
            EXPECT_EQ(all(job.at(rank), {&requests[rank], 1}, {}), WEFT_OK);
        });
    }
    for (std::thread& thread : waiting) thread.join();
    EXPECT_EQ(values[2], values[0]);
}

// The one that sleeps on the transports, and those that sleep behind it.
TEST_P(Complete, ADeadlineHoldsForEveryThreadThatWaits) {
    ThreadJob job(2, job_options(/*may_spin=*/false));
    job.connect();
    constexpr std::size_t threads = 4;
    weft_request mine[threads];
    weft_request theirs[threads];
    for (weft_request& request : mine) ASSERT_EQ(job.at(0).ibarrier(&request), WEFT_OK);
    std::atomic<int> timed_out{0};
    std::vector<std::thread> waiting;
    for (std::size_t t = 0; t < threads; ++t) {
        waiting.emplace_back([&, t] {
            for (int i = 0; i < 5; ++i) {
                std::int64_t deadline = now_ns() + static_cast<std::int64_t>(t + 1) * 3 * ms;
                EXPECT_EQ(all(job.at(0), {&mine[t], 1}, {.deadline_ns = deadline}), WEFT_TIMED_OUT);
                EXPECT_GE(now_ns(), deadline);
            }
            ++timed_out;
            EXPECT_EQ(all(job.at(0), {&mine[t], 1}, {}), WEFT_OK);
        });
    }
    while (timed_out < static_cast<int>(threads)) std::this_thread::yield();
    for (weft_request& request : theirs) ASSERT_EQ(job.at(1).ibarrier(&request), WEFT_OK);
    EXPECT_EQ(all(job.at(1), theirs, {}), WEFT_OK);
    for (std::thread& thread : waiting) thread.join();
}

// --- Threads -------------------------------------------------------------------------------------

// Only one of several threads gets the outcome of a nonblocking request, however each waits.
TEST_P(Complete, OneOfSeveralThreadsGetsTheOutcome) {
    for (int round = 0; round < 20; ++round) {
        ThreadJob job(2, job_options(/*may_spin=*/round % 2 == 0));
        job.connect();
        weft_request shared;
        ASSERT_EQ(job.at(0).ibarrier(&shared), WEFT_OK);
        weft_status outcomes[3];
        std::string details[3];
        std::atomic<int> entering{0};
        std::vector<std::thread> waiting;
        for (std::size_t t = 0; t < 3; ++t) {
            waiting.emplace_back([&, t] {
                weft_request copies[2] = {WEFT_REQUEST_NULL, shared};
                ++entering;
                outcomes[t] = t == 0   ? all(job.at(0), copies, {})
                              : t == 1 ? any(job.at(0), copies, true).status
                                       : some(job.at(0), copies, true).status;
                details[t] = last_detail();
                EXPECT_EQ(copies[1], outcomes[t] == WEFT_OK ||
                                             details[t].find("another thread") != std::string::npos
                                         ? WEFT_REQUEST_NULL
                                         : shared);
            });
        }
        while (entering < 3) std::this_thread::yield();
        if (round % 4 < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        weft_request peer;
        ASSERT_EQ(job.at(1).ibarrier(&peer), WEFT_OK);
        ASSERT_EQ(job.at(1).wait(&peer), WEFT_OK);
        for (std::thread& thread : waiting) thread.join();
        EXPECT_EQ(std::ranges::count(outcomes, WEFT_OK), 1);
        for (std::size_t t = 0; t < 3; ++t) {
            if (outcomes[t] == WEFT_OK) continue;
            EXPECT_EQ(outcomes[t], WEFT_REFUSED_HANDLE);
            const bool late =
                details[t].find("was completed by another thread meanwhile") != std::string::npos;
            const bool too_late =
                details[t].find("expected a request that has not completed") != std::string::npos;
            EXPECT_TRUE(late || too_late) << details[t];
        }
    }
}

// Four threads of each rank, each with persistent requests of its own, which may start in any order
// across threads, and every way to complete them.
TEST_P(Complete, ThreadsWithRequestsOfTheirOwn) {
    ThreadJob job(2, job_options(/*may_spin=*/false));
    job.connect();
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 3;
    job.run([&](ThreadRank& rank) {
        std::vector<std::vector<weft_request>> requests(threads, std::vector<weft_request>(each));
        std::vector<std::int64_t> values(threads * each);
        for (std::size_t i = 0; i < values.size(); ++i) {
            Call call{.collective = Collective::allreduce,
                      .send_buf = WEFT_IN_PLACE,
                      .recv_buf = &values[i],
                      .count = 1,
                      .type = WEFT_INT64,
                      .op = WEFT_SUM};
            ASSERT_EQ(rank.init(call, &requests[i / each][i % each]), WEFT_OK);
        }
        auto work = [&](std::size_t t) {
            std::vector<weft_request>& own = requests[t];
            for (int round = 0; round < 40; ++round) {
                for (std::size_t i = 0; i < each; ++i) values[t * each + i] = round;
                ASSERT_EQ(rank.startall(own.size(), own.data()), WEFT_OK);
                std::size_t left = each;
                const bool blocks = round % 2 == 0;
                switch ((static_cast<std::size_t>(round) / 2 + t) % 4) {
                    case 0:
                        while (left > 0) left -= any(rank, own, blocks).status == WEFT_OK;
                        break;
                    case 1:
                        while (left > 0) {
                            Answer answer = some(rank, own, blocks);
                            if (answer.status == WEFT_OK) left -= answer.number;
                        }
                        break;
                    case 2:
                        while (all(rank, own, {}, blocks) != WEFT_OK) std::this_thread::yield();
                        break;
                    case 3:
                        while (all(rank, own, {.deadline_ns = now_ns() + ms / 10}) != WEFT_OK)
                            std::this_thread::yield();
                        break;
                }
                for (std::size_t i = 0; i < each; ++i) {
                    ASSERT_EQ(values[t * each + i], 2 * round) << "thread " << t;
                }
            }
        };
        std::vector<std::thread> working;
        for (std::size_t t = 0; t < threads; ++t) working.emplace_back(work, t);
        for (std::thread& thread : working) thread.join();
        for (std::vector<weft_request>& own : requests) {
            for (weft_request& request : own) {
                EXPECT_EQ(rank.request_free(&request), WEFT_OK);
            }
        }
    });
}

}  // namespace weft::test::completion_test
