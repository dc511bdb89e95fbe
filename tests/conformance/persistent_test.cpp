// Persistent requests: a rerun equals the first run, ranks start them in any order, restarting
// allocates nothing, and a broken communicator leaves them to be freed.
#include "algorithm/catalogue.h"
#include "base/clock.h"
#include "shape/neighborhood.h"
#include "support/counting_new.h"
#include "support/float_states.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/thread_job.h"
#include "support/world.h"
#include "weft/collective.h"

namespace weft::test::persistent_test {

using Values = std::vector<std::int64_t>;

Call barrier() { return {.collective = Collective::barrier}; }
Call bcast(Values& values, int root) {
    return {.collective = Collective::bcast,
            .recv_buf = values.data(),
            .count = values.size(),
            .type = WEFT_INT64,
            .root = root};
}
Call allgather(const void* from, Values& into, std::size_t count) {
    return {.collective = Collective::allgather,
            .send_buf = from,
            .recv_buf = into.data(),
            .count = count,
            .type = WEFT_INT64};
}
Call sum(const void* from, Values& into) {
    return {.collective = Collective::allreduce,
            .send_buf = from,
            .recv_buf = into.data(),
            .count = into.size(),
            .type = WEFT_INT64,
            .op = WEFT_SUM};
}

// What one rank has: a persistent request of each kind, on buffers that each round fills anew.
struct Everything {
    Everything(Rank own, Rank all, std::size_t count)
        : rank(own),
          ranks(all),
          sent(count),
          summed(count),
          gathered(count * static_cast<std::size_t>(all)),
          in_place(count),
          cast(count) {}

    std::vector<Call> calls() {
        return {sum(sent.data(), summed), allgather(sent.data(), gathered, sent.size()),
                sum(WEFT_IN_PLACE, in_place), bcast(cast, ranks - 1), barrier()};
    }
    static std::int64_t value(Rank of, int round, std::size_t i) {
        return of * 1000 + round * 17 + static_cast<std::int64_t>(i);
    }
    void fill(int round) {
        for (std::size_t i = 0; i < sent.size(); ++i) {
            sent[i] = in_place[i] = value(rank, round, i);
            cast[i] = rank == ranks - 1 ? value(rank, round, i) : -1;
        }
        std::ranges::fill(summed, -1);
        std::ranges::fill(gathered, -1);
    }
    bool is_right(int round) const {
        for (std::size_t i = 0; i < sent.size(); ++i) {
            std::int64_t total = 0;
            for (Rank r = 0; r < ranks; ++r) {
                total += value(r, round, i);
                if (gathered[static_cast<std::size_t>(r) * sent.size() + i] != value(r, round, i))
                    return false;
            }
            if (summed[i] != total || in_place[i] != total) return false;
            if (cast[i] != value(ranks - 1, round, i) || sent[i] != value(rank, round, i))
                return false;
        }
        return true;
    }

    Rank rank;
    Rank ranks;
    Values sent, summed, gathered, in_place, cast;
};

template <class T>
void shuffle(std::vector<T>& items, Prng& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

class Persistent : public EveryThreadJob {};
INSTANTIATE_TEST_SUITE_P(Jobs, Persistent,
                         EveryThreadJob::with_engines({EngineKind::manual, EngineKind::thread,
                                                       EngineKind::kernel}),
                         EveryThreadJob::name);

TEST_P(Persistent, RerunEqualsTheFirstRun) {
    for (std::size_t count : {1u, 300u, 40'000u}) {
        ThreadJob job(3, job_options(/*may_spin=*/false));
        job.run([&](ThreadRank& rank) {
            Everything mine(rank.rank(), 3, count);
            std::vector<weft_request> requests;
            for (const Call& call : mine.calls())
                ASSERT_EQ(rank.init(call, &requests.emplace_back()), WEFT_OK) << last_detail();
            const std::vector<weft_request> made = requests;
            for (int round = 0; round < 6; ++round) {
                mine.fill(round);
                ASSERT_EQ(rank.startall(requests.size(), requests.data()), WEFT_OK);
                ASSERT_EQ(rank.waitall(requests.size(), requests.data(), nullptr), WEFT_OK);
                ASSERT_TRUE(mine.is_right(round)) << "rank " << rank.rank() << " round " << round;
                ASSERT_EQ(requests, made);
            }
        });
    }
}

void add_doubles(const void* in, void* inout, size_t count, weft_type, void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<double*>(inout)[i] += static_cast<const double*>(in)[i];
}

// Anew at each start; the requests were made by a thread that rounds to the nearest.
TEST_P(Persistent, RoundsAsTheThreadThatStarts) {
    weft_op own_sum = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(add_doubles, 1, nullptr, &own_sum), WEFT_OK);
    ThreadJob job(3, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        const std::vector<double> little(100, rank.rank() == 0 ? 1.0 : 0x1p-60);
        std::vector<double> sums[2] = {little, little};
        std::vector<weft_request> requests(2);
        for (std::size_t i = 0; i < 2; ++i) {
            const Call call = {.collective = Collective::allreduce,
                               .send_buf = little.data(),
                               .recv_buf = sums[i].data(),
                               .count = little.size(),
                               .type = WEFT_FLOAT64,
                               .op = i == 0 ? WEFT_SUM : own_sum};
            ASSERT_EQ(rank.init(call, &requests[i]), WEFT_OK) << last_detail();
        }
        for (const int state : {0, 1, 2, 1, 3}) {
            set_float_state(state);
            const weft_status started = rank.startall(requests.size(), requests.data());
            const weft_status ended = rank.waitall(requests.size(), requests.data(), nullptr);
            set_float_state(0);
            ASSERT_EQ(started, WEFT_OK);
            ASSERT_EQ(ended, WEFT_OK);
            for (const std::vector<double>& sum : sums) {
                ASSERT_EQ(std::ranges::count_if(sum, [](double x) { return x > 1; }),
                          state == 1 ? 100 : 0)
                    << "state " << state;
            }
        }
        for (weft_request& request : requests) {
            ASSERT_EQ(rank.request_free(&request), WEFT_OK);
        }
    });
    weft_op_free(&own_sum);
}

// Each rank in an order of its own, anew in each round, with nonblocking calls in between.
TEST_P(Persistent, StartInAnyOrder) {
    ThreadJob job(3, job_options(/*may_spin=*/false));
    job.run([&](ThreadRank& rank) {
        Prng random(static_cast<std::uint64_t>(rank.rank()) + 1);
        Everything mine(rank.rank(), 3, 2000);
        std::vector<weft_request> requests;
        for (const Call& call : mine.calls())
            ASSERT_EQ(rank.init(call, &requests.emplace_back()), WEFT_OK);
        for (int round = 0; round < 40; ++round) {
            mine.fill(round);
            shuffle(requests, random);
            std::int64_t seven = rank.rank() == 0 ? 7 : 0;
            weft_request call = WEFT_REQUEST_NULL;
            const std::size_t call_after = random.below(requests.size());
            for (std::size_t i = 0; i < requests.size(); ++i) {
                ASSERT_EQ(rank.start(&requests[i]), WEFT_OK);
                if (i == call_after) {
                    ASSERT_EQ(rank.ibcast(&seven, 1, WEFT_INT64, 0, &call), WEFT_OK);
                }
            }
            shuffle(requests, random);
            for (weft_request& request : requests) ASSERT_EQ(rank.wait(&request), WEFT_OK);
            ASSERT_EQ(rank.wait(&call), WEFT_OK);
            ASSERT_TRUE(mine.is_right(round)) << "rank " << rank.rank() << " round " << round;
            ASSERT_EQ(seven, 7);
        }
    });
}

TEST(PersistentUnderReordering, StartInAnyOrder) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const auto ranks = static_cast<Rank>(2 + seed % 4);
        World world(ranks, seed, {.busy_one_in = seed % 3 == 0 ? 7u : 0u});
        Prng random(seed);
        std::vector<Everything> all;
        std::vector<std::pair<Rank, Request*>> requests;
        for (Rank rank = 0; rank < ranks; ++rank) all.emplace_back(rank, ranks, 5);
        for (Rank rank = 0; rank < ranks; ++rank) {
            for (const Call& call : all[static_cast<std::size_t>(rank)].calls()) {
                Result<Request*> made = world.world(rank).make_persistent(call);
                ASSERT_TRUE(made.is_ok()) << last_detail();
                requests.push_back({rank, *made});
            }
        }
        for (int round = 0; round < 3; ++round) {
            for (Everything& rank : all) rank.fill(round);
            shuffle(requests, random);
            for (auto [rank, request] : requests) {
                InCall in_call(world.process(rank).engine());
                world.world(rank).start(*request);
            }
            for (weft_status code : world.finish(requests)) ASSERT_EQ(code, WEFT_OK);
            for (Everything& rank : all) {
                ASSERT_TRUE(rank.is_right(round)) << "seed " << seed << " rank " << rank.rank;
            }
        }
        for (auto [rank, request] : requests) world.world(rank).free(*request);
    }
}

class PersistentOver : public testing::TestWithParam<Over> {};
INSTANTIATE_TEST_SUITE_P(Jobs, PersistentOver, testing::ValuesIn(ways_between_threads()),
                         [](const auto& over) { return name_of(over.param); });

// Tests both ranks' requests in turn until they are complete.
void complete(ThreadJob& job, std::span<weft_request, 2> requests) {
    bool open[2] = {true, true};
    const std::int64_t deadline = now_ns() + 20'000'000'000;
    while (open[0] || open[1]) {
        for (std::size_t rank : {0u, 1u}) {
            if (!open[rank]) continue;
            const weft_status status = job.at(static_cast<Rank>(rank)).test(&requests[rank]);
            ASSERT_TRUE(status == WEFT_OK || status == WEFT_PENDING);
            open[rank] = status == WEFT_PENDING;
        }
        ASSERT_LT(now_ns(), deadline);
    }
}

// Chance decides how many messages are under way at once, so the pools grow for a while.
template <class Round>
void expect_no_allocations(Round round) {
    counting = true;
    int rounds_without = 0;
    for (int i = 0; i < 500 && rounds_without < 5; ++i) {
        allocations = 0;
        round();
        rounds_without = allocations == 0 ? rounds_without + 1 : 0;
    }
    counting = false;
    EXPECT_EQ(rounds_without, 5) << "starts allocate again and again";
}

// More of them than one table of lanes holds, one after the other: both ranks driven by this thread.
TEST_P(PersistentOver, RestartAllocatesNothing) {
    ThreadJob job(2, {.engine = EngineKind::manual, .over = GetParam()});
    constexpr int operations = 30;
    std::vector<Values> values(2 * operations, Values(500, 1));
    std::vector<weft_request> requests(2 * operations);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ASSERT_EQ(
            job.at(static_cast<Rank>(i % 2)).init(sum(WEFT_IN_PLACE, values[i]), &requests[i]),
            WEFT_OK);
    }
    expect_no_allocations([&] {
        for (std::size_t i = 0; i < requests.size(); i += 2) {
            for (std::size_t rank : {0u, 1u}) {
                std::ranges::fill(values[i + rank], 1);
                ASSERT_EQ(job.at(static_cast<Rank>(rank)).start(&requests[i + rank]), WEFT_OK);
            }
            complete(job, std::span<weft_request, 2>(&requests[i], 2));
        }
    });
    EXPECT_EQ(values[0][0], 2);
}

// A call that is in the cache: its counts and types are turned into bytes anew, in room that is kept.
TEST_P(PersistentOver, RepeatedCallsWithTypesAllocateNothing) {
    ThreadJob job(2, {.engine = EngineKind::manual, .over = GetParam()});
    Values sent[2] = {{1, 2, 3}, {4, 5, 6}};
    Values got[2] = {Values(3), Values(3)};
    const std::int64_t to_0[] = {1, 2};
    const std::int64_t to_1[] = {2, 1};
    const std::int64_t* counts[] = {to_0, to_1};
    const weft_type types[] = {WEFT_INT64, WEFT_INT64};
    expect_no_allocations([&] {
        weft_request requests[2];
        for (std::size_t rank : {0u, 1u}) {
            const Call call = {.collective = Collective::alltoallw,
                               .send_buf = sent[rank].data(),
                               .recv_buf = got[rank].data(),
                               .send_blocks = {counts[rank], nullptr, types},
                               .recv_blocks = {counts[rank], nullptr, types}};
            ASSERT_EQ(job.at(static_cast<Rank>(rank)).start(call, &requests[rank]), WEFT_OK);
        }
        complete(job, requests);
    });
    EXPECT_EQ(got[0], (Values{1, 4, 5}));
    EXPECT_EQ(got[1], (Values{2, 3, 6}));
}

// Sends and receives of any size, tag and source; each round has three, of which one is persistent.
TEST_P(PersistentOver, RepeatedMessagesAllocateNothing) {
    for (const bool takes_any : {false, true}) {
        ThreadJob job(2, {.engine = EngineKind::manual, .over = GetParam()});
        Values sent(2000, 3);
        Values got(2000);
        const auto receive = [&](int tag, std::size_t count) -> MessageCall {
            return {.data = got.data(),
                    .count = count,
                    .type = WEFT_INT64,
                    .peer = 0,
                    .takes_any = takes_any,
                    .tag = tag};
        };
        const auto send = [&](int tag, std::size_t count) -> MessageCall {
            return {.sends = true,
                    .data = sent.data(),
                    .count = count,
                    .type = WEFT_INT64,
                    .peer = 1,
                    .tag = tag};
        };
        ThreadRank& sender = job.at(0);
        ThreadRank& receiver = job.at(1);
        weft_request persistent[2];
        ASSERT_EQ(sender.init(send(0, 5), sender.world(), &persistent[0]), WEFT_OK);
        ASSERT_EQ(receiver.init(receive(0, 5), receiver.world(), &persistent[1]), WEFT_OK);
        expect_no_allocations([&] {
            ASSERT_EQ(sender.start(&persistent[0]), WEFT_OK);
            ASSERT_EQ(receiver.start(&persistent[1]), WEFT_OK);
            complete(job, persistent);
            for (const std::size_t count : {1u, 2000u}) {
                const int tag = static_cast<int>(count);
                weft_request requests[2];
                ASSERT_EQ(receiver.start(receive(tag, count), receiver.world(), &requests[1]),
                          WEFT_OK);
                ASSERT_EQ(sender.start(send(tag, count), sender.world(), &requests[0]), WEFT_OK);
                complete(job, requests);
            }
        });
        EXPECT_EQ(got, sent);
        ASSERT_EQ(sender.request_free(&persistent[0]), WEFT_OK);
        ASSERT_EQ(receiver.request_free(&persistent[1]), WEFT_OK);
    }
}

// A call in which every block has two elements.
Call call_of(const algorithm::CollectiveSpec& spec, Rank rank, const Values& sent, Values& got) {
    using algorithm::Blocks;
    static constexpr std::int64_t counts[] = {2, 2};
    static constexpr weft_type types[] = {WEFT_INT64, WEFT_INT64};
    const auto arrays = [&](Blocks blocks) {
        const bool is_listed = blocks == Blocks::all || blocks == Blocks::neighbors;
        return is_listed ? BlockArrays{counts, nullptr, spec.has_types ? types : nullptr}
                         : BlockArrays{};
    };
    Call call = {.collective = spec.collective,
                 .send_buf = sent.data(),
                 .recv_buf = got.data(),
                 .count = 2,
                 .type = WEFT_INT64,
                 .op = spec.reduces ? WEFT_SUM : WEFT_OP_NULL};
    if (!spec.lists_blocks()) return call;
    call.send_blocks = arrays(spec.send_blocks(rank == 0));
    call.recv_blocks = arrays(spec.recv_blocks(rank == 0));
    return call;
}

TEST_P(PersistentOver, RepeatedCallsOfEveryCollectiveAllocateNothing) {
    for (const EngineKind engine : {EngineKind::manual, EngineKind::thread}) {
        ThreadJob job(2, {.engine = engine, .over = GetParam()});
        for (const Rank rank : {0, 1}) {
            job.at(rank).process().world().set_neighbors(std::make_unique<const Neighborhood>(
                grid_neighbors(std::vector<Dimension>{{2, true}}, rank)));
        }
        Values sent[2] = {Values(4, 1), Values(4, 2)};
        Values got[2] = {Values(4), Values(4)};
        for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
            SCOPED_TRACE(spec.name + std::string(" ") + traits(engine).name);
            expect_no_allocations([&] {
                weft_request requests[2];
                for (const Rank rank : {0, 1}) {
                    const auto r = static_cast<std::size_t>(rank);
                    ASSERT_EQ(
                        job.at(rank).start(call_of(spec, rank, sent[r], got[r]), &requests[r]),
                        WEFT_OK)
                        << last_detail();
                }
                complete(job, requests);
                // A root that only sends has not looked for what comes back to it.
                for (const Rank rank : {0, 1}) {
                    Engine& own = job.at(rank).process().engine();
                    InCall in_call(own);
                    own.progress();
                }
            });
        }
    }
}

TEST(PersistentOnSim, EndWithTheirCommunicatorAndCanOnlyBeFreed) {
    World world(3, 11);
    Values active_values[3] = {Values(4, 1), Values(4, 1), Values(4, 1)};
    std::vector<std::pair<Rank, Request*>> active;
    std::vector<Request*> idle;
    for (Rank rank = 0; rank < 3; ++rank) {
        active.push_back(
            {rank, *world.world(rank).make_persistent(sum(WEFT_IN_PLACE, active_values[rank]))});
        idle.push_back(*world.world(rank).make_persistent(barrier()));
    }
    for (Rank rank = 0; rank < 2; ++rank) {
        InCall in_call(world.process(rank).engine());
        world.world(rank).start(*active[static_cast<std::size_t>(rank)].second);
    }
    world.network().kill(2);
    active.pop_back();
    for (weft_status code : world.finish(active)) EXPECT_EQ(code, WEFT_BROKEN_RANK);
    EXPECT_STREQ(last_detail(), "persistent allreduce on world: rank 2 of the job died or left");
    for (Rank rank = 0; rank < 2; ++rank) {
        auto r = static_cast<std::size_t>(rank);
        EXPECT_EQ(world.world(rank).check_start(*active[r].second).code, WEFT_BROKEN_RANK);
        EXPECT_EQ(world.world(rank).check_start(*idle[r]).code, WEFT_BROKEN_RANK);
        EXPECT_STREQ(last_detail(), "persistent barrier on world: rank 2 of the job died or left");
        EXPECT_FALSE(idle[r]->active);
        EXPECT_EQ(world.world(rank).make_persistent(barrier()).status().code, WEFT_BROKEN_RANK);
        world.world(rank).free(*active[r].second);
        world.world(rank).free(*idle[r]);
    }
}

}  // namespace weft::test::persistent_test
