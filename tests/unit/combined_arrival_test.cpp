// Reductions that the transport performs while it receives: each exactly once, in repeats too, and only
// where it may.
#include "algorithm/catalogue.h"
#include "conformance/shm_world.h"
#include "lab/wrap/checking.h"
#include "lab/wrap/faulty.h"
#include "lab/wrap/recording.h"
#include "run/executor.h"
#include "schedule/builder.h"
#include "support/test.h"

namespace weft::test::combined_arrival_test {

// Elements; the larger message waits for its receive and comes in pieces.
constexpr std::size_t small_block = 1000;
constexpr std::size_t large_block = 20'000;

std::int64_t bytes_of(std::size_t elements) {
    return static_cast<std::int64_t>(elements * sizeof(std::int64_t));
}

// What two ranks hold of one call.
struct Side {
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> result;
};

// Rank 0 sends blocks to rank 1, which combines each with its own and sends it back. `window` 0: there
// is one block, and no repeat.
Schedule there_and_back(Rank rank, std::size_t per_block, std::size_t elements,
                        std::uint32_t window) {
    ScheduleBuilder builder(rank, 2);
    const Region own{Buffer::send, 0, bytes_of(per_block)};
    const Region result{Buffer::recv, 0, bytes_of(per_block)};
    if (window > 0) {
        builder.repeat_begin({.total_bytes = bytes_of(elements),
                              .block_bytes = bytes_of(per_block),
                              .window = window});
    }
    if (rank == 0) {
        builder.send(own, 1);
        builder.recv(result, 1);
    } else {
        const OpId arrived = builder.recv(result, 0);
        const OpId combined = builder.reduce(own, result, {arrived});
        builder.send(result, 0, {combined});
    }
    if (window > 0) builder.repeat_end();
    return std::move(*builder.seal());
}

Schedule one_block(Rank rank, std::size_t elements) {
    return there_and_back(rank, elements, elements, 0);
}

void user_minus(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::int64_t*>(in);
    auto* right = static_cast<std::int64_t*>(inout);
    for (size_t i = 0; i < count; ++i) right[i] = left[i] - right[i];
}

Reduction sum() { return *bind_reduction(WEFT_SUM, WEFT_INT64); }

Reduction minus() {
    Reduction reduction = sum();
    reduction.kernel = nullptr;
    reduction.user = user_minus;
    return reduction;
}

using Wrapped = std::unique_ptr<Transport>;

// Carries both ranks' schedules out over shared memory, behind what `wrap` makes. Returns how many
// receives combined.
std::uint64_t carry_out(const Schedule (&schedules)[2], const Reduction& reduction,
                        Side (&sides)[2], Wrapped (*wrap)(Transport& inner, Rank rank) = nullptr) {
    ShmRanks ranks(2);
    std::vector<Wrapped> wrapped;
    std::vector<std::unique_ptr<Executor>> executors;
    std::vector<std::unique_ptr<weft::Run>> runs;
    std::vector<std::unique_ptr<Stream>> streams;
    Group groups[2];
    for (Rank rank : {0, 1}) {
        const auto r = static_cast<std::size_t>(rank);
        Transport* transport = &ranks.at(rank);
        if (wrap != nullptr) transport = wrapped.emplace_back(wrap(*transport, rank)).get();
        executors.push_back(std::make_unique<Executor>(rank, std::vector<Transport*>{transport},
                                                       std::vector<Transport*>(2, transport)));
        groups[r].context = 1;
        groups[r].members = {0, 1};
        executors[r]->add_group(groups[r]);
        streams.push_back(std::make_unique<Stream>(groups[r], 0));
        runs.push_back(std::make_unique<weft::Run>(schedules[r]));
        executors[r]->start(*runs[r], *streams[r],
                            {.send = reinterpret_cast<const std::byte*>(sides[r].own.data()),
                             .recv = reinterpret_cast<std::byte*>(sides[r].result.data()),
                             .reduction = reduction});
    }
    constexpr int polls_max = 1'000'000;
    for (int i = 0; i < polls_max && !(runs[0]->is_done() && runs[1]->is_done()); ++i) {
        for (auto& executor : executors) executor->progress();
    }
    for (auto& run : runs) EXPECT_TRUE(run->is_done() && run->failure().code == WEFT_OK);
    return ranks.at(1).counters().combined;
}

void fill(Side (&sides)[2], std::size_t elements) {
    for (Side& side : sides) {
        side.own.resize(elements);
        side.result.assign(elements, -1);
    }
    std::iota(sides[0].own.begin(), sides[0].own.end(), 0);
    for (std::size_t i = 0; i < elements; ++i) {
        sides[1].own[i] = 1000 * static_cast<std::int64_t>(i);
    }
}

TEST(CombinedArrival, HappensOnceInEachIterationOfARepeat) {
    for (std::size_t per_block : {small_block, large_block}) {
        for (std::uint32_t window : {1u, 2u, 5u}) {
            for (std::size_t blocks : {1u, 4u, 23u}) {
                SCOPED_TRACE(std::to_string(blocks) + " blocks of " + std::to_string(per_block) +
                             ", window " + std::to_string(window));
                const std::size_t elements = blocks * per_block - 77;  // the last block is short
                Side sides[2];
                fill(sides, elements);
                const Schedule schedules[2] = {there_and_back(0, per_block, elements, window),
                                               there_and_back(1, per_block, elements, window)};
                EXPECT_EQ(carry_out(schedules, sum(), sides), blocks);
                for (std::size_t i = 0; i < elements; ++i) {
                    ASSERT_EQ(sides[0].result[i], 1001 * static_cast<std::int64_t>(i)) << i;
                }
            }
        }
    }
}

TEST(CombinedArrival, LetsGoOnWhatWaitsForTheReduction) {
    for (std::size_t elements : {small_block, large_block}) {
        Side sides[2];
        fill(sides, elements);
        const Schedule schedules[2] = {one_block(0, elements), one_block(1, elements)};
        EXPECT_EQ(carry_out(schedules, sum(), sides), 1u);
        for (std::size_t i = 0; i < elements; ++i) {
            ASSERT_EQ(sides[0].result[i], 1001 * static_cast<std::int64_t>(i)) << i;
        }
    }
}

TEST(CombinedArrival, HappensBehindWrappers) {
    constexpr auto records = [](Transport& inner, Rank) -> Wrapped {
        return std::make_unique<RecordingTransport>(inner);
    };
    constexpr auto checks = [](Transport& inner, Rank rank) -> Wrapped {
        return std::make_unique<CheckingTransport>(inner, CheckingTransport::Endpoint{rank, 2});
    };
    constexpr auto is_busy = [](Transport& inner, Rank rank) -> Wrapped {
        return std::make_unique<FaultyTransport>(inner, static_cast<std::uint64_t>(rank),
                                                 FaultyOptions{.busy_one_in = 3, .hold_one_in = 3});
    };
    // It works on copies, as long as the peer may be lost.
    constexpr auto may_lose = [](Transport& inner, Rank rank) -> Wrapped {
        return std::make_unique<FaultyTransport>(
            inner, 1, FaultyOptions{.lose_at_post = 1'000'000, .lost_peer = 1 - rank});
    };
    for (Wrapped (*wrap)(Transport&, Rank) : {+records, +checks, +is_busy, +may_lose}) {
        for (std::size_t per_block : {small_block, large_block}) {
            constexpr std::size_t blocks = 5;
            const std::size_t elements = blocks * per_block;
            Side sides[2];
            fill(sides, elements);
            const Schedule schedules[2] = {there_and_back(0, per_block, elements, 2),
                                           there_and_back(1, per_block, elements, 2)};
            EXPECT_EQ(carry_out(schedules, sum(), sides, wrap), blocks);
            for (std::size_t i = 0; i < elements; ++i)
                ASSERT_EQ(sides[0].result[i], 1001 * static_cast<std::int64_t>(i)) << i;
        }
    }
}

// It might call the library, which is not to be called from within a transport.
TEST(CombinedArrival, DoesNotTakeInAUsersFunction) {
    Side sides[2];
    fill(sides, small_block);
    const Schedule schedules[2] = {one_block(0, small_block), one_block(1, small_block)};
    EXPECT_EQ(carry_out(schedules, minus(), sides), 0u);
    for (std::size_t i = 0; i < small_block; ++i) {
        ASSERT_EQ(sides[0].result[i], 999 * static_cast<std::int64_t>(i)) << i;
    }
}

// How many receives of an algorithm's schedule, of any rank, can combine.
std::size_t combinable(Collective collective, const char* name, Rank ranks, bool in_place) {
    const algorithm::CollectiveSpec& spec = algorithm::spec_of(collective);
    const algorithm::Algorithm* algorithm = spec.find(name);
    std::size_t count = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
        const algorithm::GlobalArgs agreed = {.ranks = ranks, .bytes = 1 << 20, .element_bytes = 8};
        const Schedule schedule =
            *algorithm::build_rank(*algorithm, spec.problem(agreed, rank, in_place));
        for (OpId op = 0; op < schedule.ops().size(); ++op) {
            count += schedule.combines_arrival(op) != no_op;
        }
    }
    return count;
}

TEST(CombinedArrival, IsThereInTheAlgorithms) {
    EXPECT_EQ(combinable(Collective::allreduce, "ring", 2, false), 2u);
    EXPECT_EQ(combinable(Collective::allreduce, "ring", 5, false), 5u * 4u);
    EXPECT_EQ(combinable(Collective::allreduce, "ring", 2, true), 0u);  // lands in scratch
    EXPECT_EQ(combinable(Collective::reduce, "binomial", 2, false), 1u);
    EXPECT_EQ(combinable(Collective::allgather, "ring", 4, false), 0u);
}

}  // namespace weft::test::combined_arrival_test
