// What each engine does for operations that nobody waits for, for several threads of a rank, and
// while engines change. Ranks are threads.
#include "base/clock.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/thread_job.h"
#include "weft/collective.h"

namespace weft::test::engines_test {

class Engines : public EveryThreadJob {};
INSTANTIATE_TEST_SUITE_P(Jobs, Engines, EveryThreadJob::with_engines(engines_for_threads()),
                         EveryThreadJob::name);

// Several threads of one rank start and wait, each for its own operations on the other's messages.
TEST_P(Engines, LetThreadsOfARankWaitSideBySide) {
    constexpr int threads = 4;
    constexpr int rounds = 40;
    ThreadJob job(2, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        // The order of starts must be the same on both ranks: one thread starts, others wait.
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::uint64_t> values(threads);
            std::vector<weft_request> requests(threads);
            for (int t = 0; t < threads; ++t) {
                auto i = static_cast<std::size_t>(t);
                values[i] = rank.rank() == t % 2 ? static_cast<std::uint64_t>(round * 10 + t) : 0;
                ASSERT_EQ(rank.ibcast(&values[i], 1, WEFT_UINT64, t % 2, &requests[i]), WEFT_OK);
            }
            std::vector<std::thread> waiting;
            for (int t = 0; t < threads; ++t) {
                waiting.emplace_back([&, i = static_cast<std::size_t>(t)] {
                    EXPECT_EQ(rank.wait(&requests[i]), WEFT_OK);
                    EXPECT_EQ(values[i], static_cast<std::uint64_t>(round) * 10 + i);
                });
            }
            for (std::thread& thread : waiting) thread.join();
        }
    });
}

class ThreadJobs : public testing::TestWithParam<Over> {};
INSTANTIATE_TEST_SUITE_P(Over, ThreadJobs, testing::ValuesIn(ways_between_threads()),
                         [](const auto& over) { return name_of(over.param); });

TEST_P(ThreadJobs, ChangeTheirEnginesWhileOperationsAreOutstanding) {
    ThreadJob job(2, {.may_spin = false,
                      .dedicates = GetParam() != Over::shm,
                      .over = GetParam(),
                      .offers_all = true});
    const std::vector<EngineKind> kinds = engines_for_threads();
    job.run([&](ThreadRank& rank) {
        std::uint64_t values[30];
        weft_request requests[30];
        for (std::size_t i = 0; i < 30; ++i) {
            values[i] = rank.rank() == 0 ? i : 0;
            ASSERT_EQ(rank.ibcast(&values[i], 1, WEFT_UINT64, 0, &requests[i]), WEFT_OK);
            if (i % 3 == 0) rank.process().engine().set_kind(kinds[i / 3 % kinds.size()]);
        }
        for (std::size_t i = 0; i < 30; ++i) {
            ASSERT_EQ(rank.wait(&requests[i]), WEFT_OK);
            ASSERT_EQ(values[i], i);
        }
    });
}

#if WEFT_HAS_TCP
// What a kernel engine waits for exists from its first start on. A thread that fell asleep before is
// the only one that listens.
TEST(KernelEngines, WakeThreadsThatFellAsleepBeforeTheirFirstStart) {
    if (const std::string absence = absence_of("kernel"); !absence.empty()) GTEST_SKIP() << absence;
    ThreadJob::Options options{
        .may_spin = false, .dedicates = true, .over = Over::tcp, .offers_all = true};
    ThreadJob job(2, std::move(options));
    job.connect();
    weft_request first[2];
    weft_request second[2];
    for (Rank rank : {0, 1}) {
        ASSERT_EQ(job.at(rank).init({.collective = Collective::barrier}, &second[rank]), WEFT_OK);
    }
    job.run([&](ThreadRank& rank) {  // The connections are up.
        const int at = rank.rank();
        ASSERT_EQ(rank.ibarrier(&first[at]), WEFT_OK);
        ASSERT_EQ(rank.start(&second[at]), WEFT_OK);
        ASSERT_EQ(rank.wait(&first[at]), WEFT_OK);
        ASSERT_EQ(rank.wait(&second[at]), WEFT_OK);
    });
    ASSERT_EQ(job.at(0).ibarrier(&first[0]), WEFT_OK);
    std::thread sleeper([&] { EXPECT_EQ(job.at(0).wait(&first[0]), WEFT_OK); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (Rank rank : {0, 1}) job.at(rank).process().engine().set_kind(EngineKind::kernel);
    for (Rank rank : {0, 1}) ASSERT_EQ(job.at(rank).start(&second[rank]), WEFT_OK);
    // (A timer of the transport wakes it after 3 s.)
    const std::int64_t deadline_ns = now_ns() + 2'000'000'000;
    for (Rank rank : {0, 1}) {
        EXPECT_EQ(job.at(rank).wait_until(&second[rank], deadline_ns), WEFT_OK);
    }
    ASSERT_EQ(job.at(1).ibarrier(&first[1]), WEFT_OK);
    EXPECT_EQ(job.at(1).wait(&first[1]), WEFT_OK);
    sleeper.join();
}
#endif

// The program's thread makes no call between start and the end of the operation.
TEST_P(ThreadJobs, AreCompletedByTheThreadWithoutAnyCall) {
    ThreadJob job(3, {.may_spin = false, .over = GetParam()});
    std::vector<std::vector<std::uint64_t>> all(3, std::vector<std::uint64_t>(3 * 20000));
    std::vector<weft_request> requests(3);
    for (Rank rank = 0; rank < 3; ++rank) {
        auto r = static_cast<std::size_t>(rank);
        for (std::size_t i = 0; i < 20000; ++i) all[r][r * 20000 + i] = r + 1;
        ASSERT_EQ(
            job.at(rank).iallgather(WEFT_IN_PLACE, all[r].data(), 20000, WEFT_UINT64, &requests[r]),
            WEFT_OK);
    }
    std::int64_t deadline = now_ns() + 20'000'000'000;
    for (Rank rank = 0; rank < 3; ++rank) {
        while (job.at(rank).process().engine().finished() == 0) {
            ASSERT_LT(now_ns(), deadline) << "rank " << rank << " has not advanced by itself";
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    for (Rank rank = 0; rank < 3; ++rank) {
        auto r = static_cast<std::size_t>(rank);
        ASSERT_EQ(job.at(rank).wait(&requests[r]), WEFT_OK);
        for (std::size_t i = 0; i < 3 * 20000; ++i) ASSERT_EQ(all[r][i], i / 20000 + 1);
    }
}

// Work on demand: rank 0 computes, and rank 1 waits by tests that are far apart.
TEST(OnDemand, IsWorkForARankThatTestsNowAndThen) {
    ThreadJob job(2, {.may_spin = false, .on_demand = true, .over = Over::shm});
    std::vector<std::uint64_t> from(400'000, 5);
    std::vector<std::uint64_t> into(400'000);
    weft_request requests[2];
    ASSERT_EQ(job.at(0).ibcast(from.data(), from.size(), WEFT_UINT64, 0, &requests[0]), WEFT_OK);
    ASSERT_EQ(job.at(1).ibcast(into.data(), into.size(), WEFT_UINT64, 0, &requests[1]), WEFT_OK);
    const std::int64_t deadline = now_ns() + 20'000'000'000;
    while (job.at(1).test(&requests[1]) == WEFT_PENDING) {
        ASSERT_LT(now_ns(), deadline);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(into, from);
    EXPECT_EQ(job.at(0).wait(&requests[0]), WEFT_OK);
}

// ... and for one that waits, if only the ranks between it and the data compute.
TEST(OnDemand, IsWorkForARankAtTheEndOfAChain) {
    constexpr Rank ranks = 5;
    ThreadJob job(ranks, {.may_spin = false, .on_demand = true, .over = Over::shm});
    std::vector<std::vector<std::uint64_t>> data(ranks, std::vector<std::uint64_t>(400'000));
    std::ranges::fill(data[0], 7);
    std::vector<weft_request> bcasts(ranks), barriers(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        ThreadRank& rank = job.at(static_cast<Rank>(r));
        ASSERT_EQ(rank.ibcast(data[r].data(), data[r].size(), WEFT_UINT64, 0, &bcasts[r]), WEFT_OK);
        ASSERT_EQ(rank.ibarrier(&barriers[r]), WEFT_OK);
    }
    EXPECT_EQ(job.at(ranks - 1).wait(&bcasts[ranks - 1]), WEFT_OK);
    EXPECT_EQ(data[ranks - 1], data[0]);
    EXPECT_EQ(job.at(ranks - 1).wait(&barriers[ranks - 1]), WEFT_OK);
    for (std::size_t r = 0; r + 1 < ranks; ++r) {
        EXPECT_EQ(job.at(static_cast<Rank>(r)).wait(&bcasts[r]), WEFT_OK);
        EXPECT_EQ(job.at(static_cast<Rank>(r)).wait(&barriers[r]), WEFT_OK);
    }
}

// The leader of a rank sleeps, and lacks nothing of rank 1. Another thread starts something and follows
// in the same call, as blocking collectives do.
TEST(OnDemand, IsWorkForAThreadThatFollowsASleepingLeader) {
    ThreadJob job(3, {.may_spin = false, .on_demand = true, .over = Over::shm});
    constexpr std::size_t count = 20'000;
    std::vector<std::vector<std::uint64_t>> of_two(3, std::vector<std::uint64_t>(count));
    std::vector<std::vector<std::uint64_t>> of_one(3, std::vector<std::uint64_t>(count));
    std::ranges::fill(of_one[1], 4);
    weft_request twos[3];
    weft_request ones[3];
    ASSERT_EQ(job.at(0).ibcast(of_two[0].data(), count, WEFT_UINT64, 2, &twos[0]), WEFT_OK);
    ASSERT_EQ(job.at(1).ibcast(of_two[1].data(), count, WEFT_UINT64, 2, &twos[1]), WEFT_OK);
    ASSERT_EQ(job.at(1).ibcast(of_one[1].data(), count, WEFT_UINT64, 1, &ones[1]), WEFT_OK);
    std::thread leader([&] { EXPECT_EQ(job.at(0).wait(&twos[0]), WEFT_OK); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    {
        Process& process = job.at(0).process();
        InCall in_call(process.engine());
        Result<Request*> made = process.world().start(Call{.collective = Collective::bcast,
                                                           .recv_buf = of_one[0].data(),
                                                           .count = count,
                                                           .type = WEFT_UINT64,
                                                           .root = 1},
                                                      {.waits = true});
        ASSERT_TRUE(made.is_ok()) << last_detail();
        Request& request = **made;
        EXPECT_EQ(process.engine().wait_until([&] { return request.is_done(); },
                                              {.deadline_ns = now_ns() + 20'000'000'000}),
                  WEFT_OK);
        EXPECT_EQ(of_one[0], of_one[1]);
        ASSERT_TRUE(request.is_done());
        EXPECT_TRUE(process.world().settle(request).is_ok());
    }
    ASSERT_EQ(job.at(2).ibcast(of_two[2].data(), count, WEFT_UINT64, 2, &twos[2]), WEFT_OK);
    ASSERT_EQ(job.at(2).ibcast(of_one[2].data(), count, WEFT_UINT64, 1, &ones[2]), WEFT_OK);
    for (Rank rank : {1, 2}) {
        EXPECT_EQ(job.at(rank).wait(&twos[rank]), WEFT_OK);
        EXPECT_EQ(job.at(rank).wait(&ones[rank]), WEFT_OK);
    }
    leader.join();
}

TEST_P(ThreadJobs, WithTheManualEngineMoveOnlyInsideCalls) {
    ThreadJob job(2, {.engine = EngineKind::manual, .over = GetParam()});
    std::vector<std::uint64_t> from(200000, 5);
    std::vector<std::uint64_t> into(200000);
    weft_request requests[2];
    ASSERT_EQ(job.at(0).ibcast(from.data(), from.size(), WEFT_UINT64, 0, &requests[0]), WEFT_OK);
    ASSERT_EQ(job.at(1).ibcast(into.data(), into.size(), WEFT_UINT64, 0, &requests[1]), WEFT_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(job.at(1).process().executor().active(), 1u);
    // Both ranks are driven by this thread.
    weft_status status[2] = {WEFT_PENDING, WEFT_PENDING};
    std::int64_t deadline = now_ns() + 20'000'000'000;
    while (status[0] == WEFT_PENDING || status[1] == WEFT_PENDING) {
        for (Rank rank : {0, 1}) {
            if (status[rank] == WEFT_PENDING) status[rank] = job.at(rank).test(&requests[rank]);
        }
        ASSERT_LT(now_ns(), deadline);
    }
    EXPECT_EQ(status[0], WEFT_OK);
    EXPECT_EQ(status[1], WEFT_OK);
    EXPECT_EQ(into, from);
}

// Threads of one rank start, test and wait side by side, spinning and sleeping, with large messages in
// between; the other rank is slow. Whoever completes a run, its waiter must learn it, and what
// nobody waits for must go on by itself.
TEST_P(Engines, KeepOthersGoingBesideAWait) {
    ThreadJob job(2, job_options(/*may_spin=*/true));
    constexpr int rounds = 150;
    job.run([&](ThreadRank& rank) {
        std::vector<std::uint64_t> large(30000);
        for (int round = 0; round < rounds; ++round) {
            std::uint64_t small[2] = {};
            weft_request requests[3];
            for (std::size_t i = 0; i < 2; ++i) {
                if (rank.rank() == 0) small[i] = static_cast<std::uint64_t>(round) + i;
                ASSERT_EQ(rank.ibcast(&small[i], 1, WEFT_UINT64, 0, &requests[i]), WEFT_OK);
                if (rank.rank() == 0 && round % 8 == 0) {
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                }
            }
            ASSERT_EQ(rank.ibcast(large.data(), large.size(), WEFT_UINT64, 1, &requests[2]),
                      WEFT_OK);
            std::thread waits([&] { EXPECT_EQ(rank.wait(&requests[0]), WEFT_OK); });
            weft_status status = WEFT_PENDING;
            while (status == WEFT_PENDING) status = rank.test(&requests[1]);
            EXPECT_EQ(status, WEFT_OK);
            waits.join();
            EXPECT_EQ(rank.wait(&requests[2]), WEFT_OK);
            EXPECT_EQ(small[1], static_cast<std::uint64_t>(round) + 1);
        }
    });
}

// The thread has slept while the program waited, and nothing was pending since.
TEST_P(ThreadJobs, AdvanceWhatIsStartedAfterAWait) {
    ThreadJob job(2, {.may_spin = false, .over = GetParam()});
    job.run([&](ThreadRank& rank) {
        std::vector<std::uint64_t> values(100'000);
        for (int round = 0; round < 10; ++round) {
            weft_request request;
            ASSERT_EQ(rank.ibcast(values.data(), values.size(), WEFT_UINT64, 0, &request), WEFT_OK);
            ASSERT_EQ(rank.wait(&request), WEFT_OK);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            const std::uint64_t before = rank.process().engine().finished();
            ASSERT_EQ(rank.ibcast(values.data(), values.size(), WEFT_UINT64, 1, &request), WEFT_OK);
            const std::int64_t deadline_ns = now_ns() + 20'000'000'000;
            while (rank.process().engine().finished() == before) {
                ASSERT_LT(now_ns(), deadline_ns) << "nobody advances it";
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
            ASSERT_EQ(rank.wait(&request), WEFT_OK);
        }
    });
}

TEST_P(ThreadJobs, ReturnFromAWaitThatIsInterrupted) {
    for (EngineKind kind : {EngineKind::manual, EngineKind::thread}) {
        ThreadJob job(2, {.engine = kind, .over = GetParam()});
        job.connect();
        weft_request request;
        ASSERT_EQ(job.at(0).ibarrier(&request), WEFT_OK);
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            job.at(0).process().engine().interrupt();
        });
        EXPECT_EQ(job.at(0).wait(&request), WEFT_INTERRUPTED);
        other.join();
        // The request is as good as before.
        weft_request peer;
        ASSERT_EQ(job.at(1).ibarrier(&peer), WEFT_OK);
        // (UCX sends nothing while its rank makes no calls.)
        std::thread waiting([&] { EXPECT_EQ(job.at(1).wait(&peer), WEFT_OK); });
        EXPECT_EQ(job.at(0).wait(&request), WEFT_OK);
        waiting.join();
    }
}

}  // namespace weft::test::engines_test
