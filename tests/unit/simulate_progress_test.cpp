// Who advances a collective while ranks compute beside it.
#include "simulate/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithm/catalogue.h"
#include "simulate/loggp.h"

namespace weft::simulate {
namespace {

constexpr std::int64_t ns = 1000;
constexpr Rank ranks = 16;

struct Simulated {
    std::int64_t end_ns;
    std::int64_t cpu_ns;
};

// Of any rank: all do the same.
Simulated simulate(const char* collective, const char* algorithm, std::int64_t bytes,
                   const Progress& progress, const LogGpParameters& p = {}) {
    const algorithm::Family* const family = algorithm::find_family(collective);
    algorithm::Agreed agreed;
    agreed.ranks = ranks;
    agreed.bytes = bytes;
    LogGpMachine machine(p);
    machine.set_progress(progress);
    for (Rank r = 0; r < ranks; ++r) {
        const Result<Schedule> schedule =
            build_rank(*family->find(algorithm), family->problem(agreed, r, /*in_place=*/true));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    const Result<LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    const LogGpOutcome& all = *outcome;
    EXPECT_EQ(std::ranges::count(all.end_ps, all.end_ps[0]), ranks);
    EXPECT_EQ(std::ranges::count(all.cpu_ps, all.cpu_ps[0]), ranks);
    return {all.end_ps[0] / ns, all.cpu_ps[0] / ns};
}

Simulated barrier(const Progress& progress) {
    return simulate("barrier", "dissemination", 0, progress);
}

Progress host(std::int64_t compute_ns, std::int64_t poll_ns, std::int64_t look_ns = 0) {
    return {Progress::By::host, compute_ns * ns, poll_ns * ns, look_ns * ns};
}

// A barrier takes 22000 ns alone: four rounds of 1500 for the send, 2500 for the way, 1500 for the receive.
TEST(Progress, WhoNeverLooksBeginsTheSecondRoundWhenAllIsComputed) {
    EXPECT_EQ(barrier(host(100'000, 0)).end_ns, 1500 + 100'000 + 1500 + 3 * 5500);
    EXPECT_EQ(barrier(host(1000, 0)).end_ns, 22'000)
        << "all is computed while a message is on its way";
}

TEST(Progress, WhoLooksOftenPaysTheCpusPart) {
    for (const std::int64_t poll_ns : {10'000, 1000, 400}) {
        const Simulated done = barrier(host(100'000, poll_ns));
        EXPECT_EQ(done.end_ns, 100'000 + 8 * 1500);
        EXPECT_EQ(done.cpu_ns, 8 * 1500);
    }
}

// Messages take 2500 to come, after the send; looks are at 1000 + 50, 2000 + 100 and 3000 + 150 behind it.
TEST(Progress, LooksCost) {
    const Simulated done = barrier(host(12'000, 1000, 50));
    EXPECT_EQ(done.cpu_ns, 8 * 1500 + 12 * 50);
    EXPECT_EQ(done.end_ns, 12'000 + done.cpu_ns);
    // In the last round 2500 are left, and the last part is shorter.
    EXPECT_EQ(barrier(host(11'500, 1000, 50)).end_ns, 3 * (3000 + 3150) + 3000 + 2500 + 3 * 50);
}

TEST(Progress, AThreadHasToWake) {
    Progress progress;
    progress.by = Progress::By::thread;
    EXPECT_EQ(barrier(progress).end_ns, 22'000);
    progress.wake_ps = 700 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 4 * (5500 + 700));
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 100'000);
    EXPECT_EQ(barrier(progress).cpu_ns, 8 * 1500);
}

TEST(Progress, ACardNeedsNoCpu) {
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 4 * (100 + 2500 + 100));
    EXPECT_EQ(barrier(progress).cpu_ns, 0);
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 100'000);
}

// Each round waits for the reduction before it.
TEST(Progress, ACardLeavesReductionsToTheHost) {
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    LogGpParameters p;
    p.byte_reduction_ps = 10 * ns;
    const auto allreduce = [&] {
        return simulate("allreduce", "recursive_doubling", 50, progress, p);
    };
    const std::int64_t exchange_ns = 2700 + 49 * 6;
    EXPECT_EQ(allreduce().end_ns, 4 * (exchange_ns + 500));
    EXPECT_EQ(allreduce().cpu_ns, 4 * 500);
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(allreduce().end_ns, 100'000 + 500 + 3 * (exchange_ns + 500));
}

}  // namespace
}  // namespace weft::simulate
