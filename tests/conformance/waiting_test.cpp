// Completion queues: a program that sleeps on a descriptor hears of every marked request that has
// completed, and of no other. Ranks are threads, and at the end processes.
#include <poll.h>

#include "base/clock.h"
#include "process/completion/queue_calls.h"
#include "support/in_call.h"
#include "support/surroundings.h"
#include "support/test.h"
#include "support/thread_job.h"

namespace weft::test::waiting_test {

constexpr std::int64_t patience_ns = 60'000'000'000;
constexpr int patience_ms = 60'000;

bool is_readable(int descriptor, int timeout_ms) {
    pollfd polled{descriptor, POLLIN, 0};
    return poll(&polled, 1, timeout_ms) == 1;
}

// The calls of weft/completion.h for a queue of this rank.
class RankQueue {
  public:
    struct Completed {
        std::uint64_t cookie;
        weft_status status;
        friend bool operator==(const Completed&, const Completed&) = default;
    };

    explicit RankQueue(ThreadRank& rank) : process_(rank.process()) {
        InCall in_call(process_.engine());
        handle_ = reinterpret_cast<weft_completion_queue>(process_.make_queue());
    }
    ~RankQueue() { free(); }

    void free() {
        InCall in_call(process_.engine());
        if (CompletionQueue* queue = find()) process_.free(*queue);
    }
    weft_status open() {
        InCall in_call(process_.engine());
        Result<int> opened = find()->descriptor();
        if (opened.is_ok()) descriptor_ = *opened;
        return opened.status().code;
    }
    int descriptor() const { return descriptor_; }
    weft_completion_queue handle() const { return handle_; }

    weft_status notify(weft_request request, std::uint64_t cookie) {
        InCall in_call(process_.engine());
        return mark_request(process_, request, handle_, cookie).code;
    }
    weft_status unmark(weft_request request) {
        InCall in_call(process_.engine());
        return mark_request(process_, request, WEFT_COMPLETION_QUEUE_NULL, 0).code;
    }
    std::optional<Completed> next() {
        Completed completed{};
        InCall in_call(process_.engine());
        const Status status =
            take_completion(process_, handle_, &completed.cookie, &completed.status);
        if (status.is_ok()) return completed;
        EXPECT_EQ(status.code, WEFT_PENDING);
        return {};
    }
    weft_status wait(Completed& completed, std::int64_t deadline_ns) {
        InCall in_call(process_.engine());
        return await_completion(process_, handle_, &completed.cookie, &completed.status,
                                deadline_ns)
            .code;
    }
    // Sleeps on the descriptor if there is one.
    Completed await() {
        Completed completed{~std::uint64_t{0}, WEFT_PENDING};
        if (descriptor_ < 0) {
            EXPECT_EQ(wait(completed, now_ns() + patience_ns), WEFT_OK) << last_detail();
            return completed;
        }
        while (true) {
            if (std::optional<Completed> taken = next()) return *taken;
            if (is_readable(descriptor_, patience_ms)) continue;
            ADD_FAILURE() << "the descriptor does not become readable";
            return completed;
        }
    }

  private:
    CompletionQueue* find() {
        return process_.queues().find(reinterpret_cast<std::uintptr_t>(handle_));
    }

    Process& process_;
    weft_completion_queue handle_;
    int descriptor_ = -1;
};

using Completed = RankQueue::Completed;

class Queues : public EveryThreadJob {
  protected:
    static bool has_thread() { return traits(std::get<1>(GetParam())).has_thread(); }
    static ThreadJob::Options job_options(bool may_spin = false) {
        ThreadJob::Options options = EveryThreadJob::job_options(may_spin);
        options.on_demand = options.over == Over::shm;
        return options;
    }
    // Where no thread could make a descriptor readable, the queue has none.
    static void open(RankQueue& queue) {
        EXPECT_EQ(queue.open(), has_thread() ? WEFT_OK : WEFT_REFUSED_UNSUPPORTED);
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Queues,
                         EveryThreadJob::with_engines({EngineKind::manual, EngineKind::fiber,
                                                       EngineKind::thread, EngineKind::thread_poll,
                                                       EngineKind::kernel}),
                         EveryThreadJob::name);

// Each rank sleeps until the other's message has come: a wake-up that is lost ends the test.
TEST_P(Queues, HearOfEveryMessageInTurn) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        for (std::uint64_t round = 0; round < 300; ++round) {
            std::vector<std::uint64_t> values(round % 10 == 9 ? 20'000 : 1, round);
            if (static_cast<int>(round % 2) != rank.rank()) std::ranges::fill(values, 0);
            weft_request request;
            ASSERT_EQ(rank.ibcast(values.data(), values.size(), WEFT_UINT64,
                                  static_cast<int>(round % 2), &request),
                      WEFT_OK);
            ASSERT_EQ(queue.notify(request, round), WEFT_OK);
            ASSERT_EQ(queue.await(), (Completed{round, WEFT_OK}));
            EXPECT_EQ(queue.next(), std::nullopt);
            EXPECT_EQ(rank.test(&request), WEFT_OK);
            EXPECT_EQ(values.back(), round);
        }
    });
}

TEST_P(Queues, HandOutAThousandCookiesOnceEach) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        constexpr std::size_t all = 1000;
        std::vector<std::uint64_t> values(all);
        std::vector<weft_request> requests(all);
        for (std::size_t i = 0; i < all; ++i) {
            values[i] = static_cast<int>(i % 2) == rank.rank() ? i : 0;
            ASSERT_EQ(
                rank.ibcast(&values[i], 1, WEFT_UINT64, static_cast<int>(i % 2), &requests[i]),
                WEFT_OK);
            // Half of them are marked when others have completed long ago.
            if (i % 4 < 2) {
                ASSERT_EQ(queue.notify(requests[i], i), WEFT_OK);
            }
        }
        for (std::size_t i = 0; i < all; ++i)
            if (i % 4 >= 2) {
                ASSERT_EQ(queue.notify(requests[i], i), WEFT_OK);
            }
        std::vector<bool> seen(all);
        for (std::size_t i = 0; i < all; ++i) {
            const Completed completed = queue.await();
            ASSERT_LT(completed.cookie, all);
            EXPECT_EQ(completed.status, WEFT_OK);
            EXPECT_FALSE(seen[completed.cookie]);
            seen[completed.cookie] = true;
            EXPECT_EQ(rank.test(&requests[completed.cookie]), WEFT_OK);
            EXPECT_EQ(values[completed.cookie], completed.cookie);
        }
        EXPECT_EQ(queue.next(), std::nullopt);
        if (queue.descriptor() >= 0) {
            EXPECT_FALSE(is_readable(queue.descriptor(), 0));
        }
    });
}

TEST_P(Queues, TakeMarksOfRequestsThatHaveCompleted) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        const std::uint64_t before = rank.process().engine().finished();
        weft_request done, other;
        ASSERT_EQ(rank.ibarrier(&done), WEFT_OK);
        ASSERT_EQ(rank.ibarrier(&other), WEFT_OK);
        ASSERT_EQ(rank.wait(&other), WEFT_OK);
        while (rank.process().engine().finished() < before + 2) std::this_thread::yield();
        ASSERT_EQ(queue.notify(done, 7), WEFT_OK);
        if (queue.descriptor() >= 0) {
            EXPECT_TRUE(is_readable(queue.descriptor(), 0));
        }
        EXPECT_EQ(queue.next(), (Completed{7, WEFT_OK}));
        EXPECT_EQ(queue.next(), std::nullopt);
        if (queue.descriptor() >= 0) {
            EXPECT_FALSE(is_readable(queue.descriptor(), 0));
        }
        EXPECT_EQ(rank.test(&done), WEFT_OK);
    });
}

TEST_P(Queues, ForgetRequestsThatATestOrWaitHasCompleted) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        for (int round = 0; round < 20; ++round) {
            weft_request waited, last;
            ASSERT_EQ(rank.ibarrier(&waited), WEFT_OK);
            ASSERT_EQ(queue.notify(waited, 1), WEFT_OK);
            ASSERT_EQ(rank.ibarrier(&last), WEFT_OK);
            ASSERT_EQ(rank.wait(&waited), WEFT_OK);
            ASSERT_EQ(queue.notify(last, 2), WEFT_OK);
            EXPECT_EQ(queue.await(), (Completed{2, WEFT_OK}));
            EXPECT_EQ(rank.wait(&last), WEFT_OK);
            EXPECT_EQ(queue.next(), std::nullopt);
        }
    });
}

TEST_P(Queues, ForgetMarksThatAreTakenAwayOrReplaced) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue first(rank), second(rank);
        open(first);
        open(second);
        weft_request pending[3];
        for (weft_request& request : pending) ASSERT_EQ(rank.ibarrier(&request), WEFT_OK);
        for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(first.notify(pending[i], i), WEFT_OK);
        ASSERT_EQ(first.unmark(pending[0]), WEFT_OK);
        ASSERT_EQ(first.unmark(pending[0]), WEFT_OK);
        ASSERT_EQ(first.unmark(WEFT_REQUEST_NULL), WEFT_OK);
        ASSERT_EQ(second.notify(pending[1], 11), WEFT_OK);
        ASSERT_EQ(first.notify(pending[2], 12), WEFT_OK);
        EXPECT_EQ(first.await(), (Completed{12, WEFT_OK}));
        EXPECT_EQ(second.await(), (Completed{11, WEFT_OK}));
        EXPECT_EQ(rank.wait(&pending[0]), WEFT_OK);
        // Also when they have completed.
        ASSERT_EQ(first.notify(pending[1], 13), WEFT_OK);
        ASSERT_EQ(first.notify(pending[2], 14), WEFT_OK);
        ASSERT_EQ(first.unmark(pending[1]), WEFT_OK);
        EXPECT_EQ(first.next(), (Completed{14, WEFT_OK}));
        EXPECT_EQ(first.next(), std::nullopt);
        EXPECT_EQ(second.next(), std::nullopt);
        EXPECT_EQ(rank.wait(&pending[1]), WEFT_OK);
        EXPECT_EQ(rank.wait(&pending[2]), WEFT_OK);
    });
}

TEST_P(Queues, MayBeFreedWithMarks) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        weft_request pending, done;
        ASSERT_EQ(rank.ibarrier(&done), WEFT_OK);
        ASSERT_EQ(rank.ibarrier(&pending), WEFT_OK);
        {
            RankQueue queue(rank);
            open(queue);
            ASSERT_EQ(queue.notify(done, 1), WEFT_OK);
            ASSERT_EQ(queue.notify(pending, 2), WEFT_OK);
            queue.await();
        }
        EXPECT_EQ(rank.wait(&pending), WEFT_OK);
        EXPECT_EQ(rank.wait(&done), WEFT_OK);
        RankQueue gone(rank);
        gone.free();
        ASSERT_EQ(rank.ibarrier(&pending), WEFT_OK);
        EXPECT_EQ(gone.notify(pending, 1), WEFT_REFUSED_HANDLE);
        Completed none{};
        EXPECT_EQ(gone.wait(none, 0), WEFT_REFUSED_HANDLE);
        EXPECT_EQ(rank.wait(&pending), WEFT_OK);
    });
}

// What is left is taken away with the process.
TEST_P(Queues, MayOutliveTheirMarks) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        const auto queue = [&] {
            InCall in_call(rank.process().engine());
            return reinterpret_cast<weft_completion_queue>(rank.process().make_queue());
        }();
        weft_request request;
        ASSERT_EQ(rank.ibarrier(&request), WEFT_OK);
        {
            InCall in_call(rank.process().engine());
            ASSERT_TRUE(mark_request(rank.process(), request, queue, 1).is_ok());
        }
        weft_request last;
        ASSERT_EQ(rank.ibarrier(&last), WEFT_OK);
        ASSERT_EQ(rank.wait(&last), WEFT_OK);
    });
}

TEST_P(Queues, HearOfEachStartOfAPersistentRequestThatIsMarked) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        weft_request request;
        ASSERT_EQ(rank.init({.collective = Collective::barrier}, &request), WEFT_OK);
        EXPECT_EQ(queue.notify(request, 0), WEFT_REFUSED_STATE);
        EXPECT_STREQ(
            last_detail(),
            "persistent barrier of 0 bytes on world is not active; expected a request that "
            "is started");
        EXPECT_EQ(queue.notify(WEFT_REQUEST_NULL, 0), WEFT_REFUSED_HANDLE);
        for (std::uint64_t round = 0; round < 30; ++round) {
            ASSERT_EQ(rank.start(&request), WEFT_OK);
            if (round % 3 > 0) {
                ASSERT_EQ(queue.notify(request, round), WEFT_OK);
                EXPECT_EQ(queue.await(), (Completed{round, WEFT_OK}));
            }
            EXPECT_EQ(rank.wait(&request), WEFT_OK);
            EXPECT_EQ(queue.next(), std::nullopt);
        }
    });
}

TEST_P(Queues, HandOutTheFailureOfABrokenGroup) {
    if (std::get<0>(GetParam()) == Over::mpi) {
        GTEST_SKIP() << "its ranks cannot be killed";
    }
    ThreadJob job(2, job_options());
    job.connect();
    RankQueue queue(job.at(0));
    open(queue);
    weft_request requests[3];
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(job.at(0).ibarrier(&requests[i]), WEFT_OK);
        if (i < 2) {
            ASSERT_EQ(queue.notify(requests[i], i), WEFT_OK);
        }
    }
    job.kill(1);
    EXPECT_EQ(queue.await(), (Completed{0, WEFT_BROKEN_RANK}));
    ASSERT_EQ(queue.notify(requests[2], 2), WEFT_OK);
    EXPECT_EQ(queue.await(), (Completed{1, WEFT_BROKEN_RANK}));
    EXPECT_EQ(queue.await(), (Completed{2, WEFT_BROKEN_RANK}));
    for (weft_request& request : requests) {
        EXPECT_EQ(job.at(0).test(&request), WEFT_BROKEN_RANK);
        EXPECT_STREQ(last_detail(), "barrier on world: rank 1 of the job died or left");
    }
}

TEST_P(Queues, EndWaitsAtTheirDeadlineAndNameLateRanks) {
    if (traits(std::get<1>(GetParam())).offloads) GTEST_SKIP() << "its messages wait elsewhere";
    ThreadJob job(2, job_options());
    job.connect();
    RankQueue queue(job.at(0));
    Completed completed{9, WEFT_PENDING};
    EXPECT_EQ(queue.wait(completed, 0), WEFT_TIMED_OUT);
    EXPECT_STREQ(last_detail(), "no pending request is marked");
    weft_request mine, theirs;
    ASSERT_EQ(job.at(0).ibarrier(&mine), WEFT_OK);
    ASSERT_EQ(queue.notify(mine, 1), WEFT_OK);
    EXPECT_EQ(queue.wait(completed, now_ns() + 3'000'000), WEFT_TIMED_OUT);
    EXPECT_EQ(detail_of_late_ranks(std::get<0>(GetParam())),
              "barrier of 0 bytes on world waits for messages from rank 1");
    EXPECT_EQ(completed, (Completed{9, WEFT_PENDING}));
    ASSERT_EQ(job.at(1).ibarrier(&theirs), WEFT_OK);
    std::thread other([&] { EXPECT_EQ(job.at(1).wait(&theirs), WEFT_OK); });
    EXPECT_EQ(queue.wait(completed, now_ns() + patience_ns), WEFT_OK);
    EXPECT_EQ(completed, (Completed{1, WEFT_OK}));
    EXPECT_EQ(job.at(0).test(&mine), WEFT_OK);
    other.join();
}

// Each thread of a rank has its own queue and sleeps on it, or in a wait for it, or waits for requests.
TEST_P(Queues, ServeSeveralThreadsSideBySide) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        constexpr std::size_t threads = 4;
        constexpr std::size_t each = 60;
        std::vector<std::vector<weft_request>> requests(threads);
        for (auto& mine : requests) {
            mine.resize(each);
            for (weft_request& request : mine)
                ASSERT_EQ(rank.init({.collective = Collective::barrier}, &request), WEFT_OK);
        }
        std::vector<std::thread> running;
        for (std::size_t t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
                RankQueue queue(rank);
                if (t < 2) open(queue);
                for (int round = 0; round < 5; ++round) {
                    std::vector<weft_request>& mine = requests[t];
                    ASSERT_EQ(rank.startall(mine.size(), mine.data()), WEFT_OK);
                    if (t == 3) {
                        for (weft_request& request : mine) ASSERT_EQ(rank.wait(&request), WEFT_OK);
                        continue;
                    }
                    for (std::uint64_t i = 0; i < each; ++i)
                        ASSERT_EQ(queue.notify(mine[i], i), WEFT_OK);
                    std::uint64_t sum = 0;
                    for (std::uint64_t i = 0; i < each; ++i) {
                        const Completed completed = queue.await();
                        ASSERT_LT(completed.cookie, each);
                        sum += completed.cookie;
                        ASSERT_EQ(rank.test(&mine[completed.cookie]), WEFT_OK);
                    }
                    EXPECT_EQ(sum, each * (each - 1) / 2);
                }
            });
        }
        for (std::thread& thread : running) thread.join();
    });
}

// Several threads take from one queue; one of them gets each cookie, and none sleeps on.
TEST_P(Queues, AreSharedByThreads) {
    ThreadJob job(2, job_options());
    job.run([&](ThreadRank& rank) {
        constexpr std::size_t all = 200;
        RankQueue queue(rank);
        open(queue);
        std::vector<weft_request> requests(all);
        std::vector<std::atomic<int>> taken(all);
        std::atomic<std::size_t> left{all};
        std::vector<std::thread> takers;
        for (int t = 0; t < 3; ++t) {
            takers.emplace_back([&] {
                while (left > 0) {
                    Completed completed{};
                    if (queue.descriptor() >= 0) {
                        const std::optional<Completed> next = queue.next();
                        if (!next) {
                            // (Another taker may get what made it readable.)
                            is_readable(queue.descriptor(), 5);
                            continue;
                        }
                        completed = *next;
                    } else if (queue.wait(completed, now_ns() + 5'000'000) != WEFT_OK) {
                        continue;
                    }
                    ++taken[completed.cookie];
                    --left;
                }
            });
        }
        for (std::size_t i = 0; i < all; ++i) {
            ASSERT_EQ(rank.ibarrier(&requests[i]), WEFT_OK);
            ASSERT_EQ(queue.notify(requests[i], i), WEFT_OK);
        }
        for (std::thread& taker : takers) taker.join();
        for (std::size_t i = 0; i < all; ++i) {
            EXPECT_EQ(taken[i], 1) << i;
            EXPECT_EQ(rank.wait(&requests[i]), WEFT_OK);
        }
    });
}

// Rank 0 sleeps on its descriptor, and lacks what rank 1's progress thread must do: the program of rank 1
// is not in Weft until rank 0 has got it.
TEST_P(Queues, DemandWhatTheyLackOfARankThatComputes) {
    if (!has_thread()) GTEST_SKIP() << "nobody does anything for a rank that computes";
    ThreadJob job(3, job_options());
    job.connect();
    std::atomic<std::size_t> got{0};
    job.run([&](ThreadRank& rank) {
        RankQueue queue(rank);
        open(queue);
        std::size_t expected = 0;
        for (const std::size_t count : {1u, 500u, 5'000u, 200'000u}) {
            for (int round = 0; round < 5; ++round) {
                ++expected;
                std::vector<std::int64_t> own(count, rank.rank() + round), all(3 * count);
                weft_request request;
                ASSERT_EQ(rank.iallgather(own.data(), all.data(), count, WEFT_INT64, &request),
                          WEFT_OK);
                if (rank.rank() == 0) {
                    ASSERT_EQ(queue.notify(request, expected), WEFT_OK);
                    EXPECT_EQ(queue.await(), (Completed{expected, WEFT_OK}));
                    got = expected;
                } else {
                    const std::int64_t give_up = now_ns() + patience_ns;
                    while (got < expected && now_ns() < give_up) std::this_thread::yield();
                    EXPECT_EQ(got, expected) << "rank 0 lacks something for ever";
                }
                EXPECT_EQ(rank.wait(&request), WEFT_OK);
                EXPECT_EQ(all[3 * count - 1], 2 + round);
            }
        }
    });
}

// A thread that waits in Weft for something else drives; the sleeper beside it hears of its own.
TEST_P(Queues, AreToldByAThreadThatWaitsForSomethingElse) {
    if (!has_thread()) GTEST_SKIP() << "there is no descriptor";
    ThreadJob job(2, job_options());
    job.connect();
    RankQueue queue(job.at(0));
    open(queue);
    weft_request later, marked;
    ASSERT_EQ(job.at(0).ibarrier(&marked), WEFT_OK);
    ASSERT_EQ(queue.notify(marked, 5), WEFT_OK);
    ASSERT_EQ(job.at(0).ibarrier(&later), WEFT_OK);
    std::thread waits([&] { EXPECT_EQ(job.at(0).wait(&later), WEFT_OK); });
    weft_request first, second;
    ASSERT_EQ(job.at(1).ibarrier(&first), WEFT_OK);
    EXPECT_EQ(job.at(1).wait(&first), WEFT_OK);
    EXPECT_TRUE(is_readable(queue.descriptor(), patience_ms));
    EXPECT_EQ(queue.await(), (Completed{5, WEFT_OK}));
    ASSERT_EQ(job.at(1).ibarrier(&second), WEFT_OK);
    EXPECT_EQ(job.at(1).wait(&second), WEFT_OK);
    waits.join();
    EXPECT_EQ(job.at(0).test(&marked), WEFT_OK);
}

TEST_P(Queues, HaveADescriptorOnlyWhereAThreadMakesItReadable) {
    ThreadJob job(2, job_options());
    RankQueue queue(job.at(0));
    weft_request request;
    ASSERT_EQ(job.at(0).ibarrier(&request), WEFT_OK);
    ASSERT_EQ(queue.notify(request, 3), WEFT_OK);
    open(queue);  // after the mark
    if (!has_thread()) {
        EXPECT_EQ(std::string("engine ") + traits(std::get<1>(GetParam())).name +
                      " advances operations only inside Weft's calls, and nothing would "
                      "make the descriptor readable; expected another engine, or "
                      "weft_completion_wait_until",
                  last_detail());
    }
    const int descriptor = queue.descriptor();
    open(queue);
    EXPECT_EQ(queue.descriptor(), descriptor);
    weft_request other;
    ASSERT_EQ(job.at(1).ibarrier(&other), WEFT_OK);
    std::thread thread([&] { EXPECT_EQ(job.at(1).wait(&other), WEFT_OK); });
    EXPECT_EQ(queue.await(), (Completed{3, WEFT_OK}));
    thread.join();
    EXPECT_EQ(job.at(0).wait(&request), WEFT_OK);
}

// --- Real processes: waiting_program.cpp says what must hold -----------------------------------------

class WaitingRanks : public Everywhere {
  protected:
    static void expect(const std::string& part, int ranks = 2) {
        expect_success(command({ranks, "tests/conformance/waiting_program " + part}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, WaitingRanks, Everywhere::all(), Everywhere::name_of);

TEST_P(WaitingRanks, ServeSocketsAndCollectivesInOneLoop) { expect("sockets"); }
TEST_P(WaitingRanks, SleepForAThousandRequests) { expect("thousand", 3); }
TEST_P(WaitingRanks, DemandWhatARequestLacks) { expect("demanded"); }
TEST_P(WaitingRanks, AreWokenForFunctionsThatTheyAloneMayCall) { expect("confined"); }
TEST_P(WaitingRanks, KeepTheContractOfQueues) { expect("edges"); }

TEST(WaitingExamples, RunOnTwoRanks) {
    std::vector<std::string> examples = {"event_loop_c", "coroutines_cpp"};
    const bool has_asio = std::filesystem::exists(WEFT_BUILD_DIR "/examples/example_asio_cpp");
    if (has_asio) examples.emplace_back("asio_cpp");
    for (const std::string& example : examples) {
        for (const char* engine : {"auto", "thread"}) {
            expect_success(surroundings("shm").command(
                {2, "examples/example_" + example, settings_of(engine)}));
        }
    }
    if (!has_asio) GTEST_SKIP() << "this build has no Boost.Asio";
}

// --- coroutines_program.cpp ---------------------------------------------------------------------------

class CoroutineRanks : public Everywhere {
  protected:
    static void expect(const std::string& part) {
        expect_success(command({2, "tests/conformance/coroutines_program " + part}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, CoroutineRanks, Everywhere::all(), Everywhere::name_of);

TEST_P(CoroutineRanks, AwaitRequests) { expect("requests"); }
TEST_P(CoroutineRanks, MayUseTheQueueItself) { expect("queue"); }
TEST_P(CoroutineRanks, SleepWhileNothingComes) { expect("sleeps"); }
TEST_P(CoroutineRanks, AwaitTasksSideBySide) { expect("tasks"); }
TEST_P(CoroutineRanks, GiveUpAtADeadline) { expect("deadlines"); }
TEST_P(CoroutineRanks, GetExceptions) { expect("exceptions"); }
TEST_P(CoroutineRanks, AllocateNothingPerAwait) { expect("allocations"); }
TEST_P(CoroutineRanks, AreResumedByTheProgramsExecutor) { expect("executor"); }
TEST_P(CoroutineRanks, RunInSeveralThreads) { expect("threads"); }
TEST_P(CoroutineRanks, MayBeDestroyedWhileTheyWait) { expect("destroyed"); }

}  // namespace weft::test::waiting_test
