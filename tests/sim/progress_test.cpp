// Who advances a collective while ranks compute beside it.
#include "algorithm/catalogue.h"
#include "offload/task_lists.h"
#include "shape/topology.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/test.h"

namespace weft::simulate::progress_test {

constexpr std::int64_t ns = 1000;
constexpr Rank ranks = 16;

struct Simulated {
    std::int64_t end_ns;
    std::int64_t cpu_ns;
    std::int64_t waiting_ns;
    std::int64_t disturbed_ns;
};

// Of any rank: all do the same.
Simulated simulate(const char* collective, const char* algorithm, std::int64_t bytes,
                   const Progress& progress, const LogGpParameters& p = {},
                   const Disturbance& disturbance = {}) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec(collective);
    algorithm::GlobalArgs agreed;
    agreed.ranks = ranks;
    agreed.bytes = bytes;
    LogGpMachine machine(p, disturbance);
    machine.set_progress(progress);
    for (Rank r = 0; r < ranks; ++r) {
        const Result<Schedule> schedule =
            build_rank(*spec->find(algorithm), spec->problem(agreed, r, /*in_place=*/true));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    const Result<LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    const LogGpOutcome& all = *outcome;
    EXPECT_EQ(std::ranges::count(all.end_ps, all.end_ps[0]), ranks);
    EXPECT_EQ(std::ranges::count(all.cpu_ps, all.cpu_ps[0]), ranks);
    EXPECT_EQ(std::ranges::count(all.waiting_ps, all.waiting_ps[0]), ranks);
    return {all.end_ps[0] / ns, all.cpu_ps[0] / ns, all.waiting_ps[0] / ns,
            all.disturbed_ps.empty() ? 0 : all.disturbed_ps[0] / ns};
}

Simulated barrier(const Progress& progress, const Disturbance& disturbance = {}) {
    return simulate("barrier", "dissemination", 0, progress, {}, disturbance);
}

Progress host(std::int64_t compute_ns, std::int64_t poll_ns, std::int64_t look_ns = 0) {
    return {Progress::By::host, compute_ns * ns, poll_ns * ns, look_ns * ns};
}

// A barrier takes 22000 ns alone: four rounds of 1500 for the send, 2500 for the way, 1500 for the
// receive.
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

// Messages take 2500 to come, after the send; looks are at 1000 + 50, 2000 + 100 and 3000 + 150
// behind it.
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

// Between ranks of a node by the host, unless the card reaches them. Of every algorithm, the host
// does what compile_tasks() leaves, and hands over the lists.
TEST(Progress, ACardCarriesOutTaskLists) {
    constexpr LogGpParameters p{.overhead_ps = 1'000'000,
                                .byte_overhead_ps = 10'000,
                                .byte_reduction_ps = 300,
                                .byte_copy_ps = 7,
                                .eager_bytes_max = 1 << 30};
    constexpr std::int64_t overhead_ps = 2'000'000;
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    progress.list_ps = 50 * ns;
    NodesParameters nodes;
    nodes.nodes = nodes.ranks_per_node = 4;
    nodes.inside = p;
    nodes.inside.overhead_ps = overhead_ps;
    const Topology topology = nodes.topology();
    int algorithms = 0;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        if (spec.sizes != algorithm::Sizes::uniform || spec.is_among_neighbors()) continue;
        for (const algorithm::Algorithm* const known : spec.algorithms) {
            algorithm::GlobalArgs agreed;
            agreed.collective = spec.collective;
            agreed.ranks = ranks;
            agreed.bytes = spec.has_data() ? 1000 : 0;
            agreed.tuning.segment_bytes = 256;
            agreed.topology = &topology;
            if (!known->unmet_need(agreed).empty()) continue;
            for (const bool reaches_all : {true, false}) {
                nodes.has_card_inside = reaches_all;
                LogGpMachine machine(p);
                machine.set_nodes(nodes);
                machine.set_progress(progress);
                std::vector<std::int64_t> of_host;
                for (Rank r = 0; r < ranks; ++r) {
                    Result<Schedule> schedule =
                        build_rank(*known, spec.problem(agreed, r, /*in_place=*/false));
                    ASSERT_TRUE(schedule.is_ok()) << last_detail();
                    machine.add(*schedule);
                    std::vector<bool> reaches;
                    for (const ScheduleLane& lane : schedule->lanes())
                        reaches.push_back(reaches_all ||
                                          topology.node_of(lane.peer) != topology.node_of(r));
                    const Tasks tasks = compile_tasks(*schedule, reaches);
                    std::int64_t& host_ps = of_host.emplace_back();
                    host_ps = static_cast<std::int64_t>(tasks.lists.size()) * progress.list_ps;
                    for (const Op& op : tasks.rest.ops()) {
                        if (op.is_message())
                            host_ps += overhead_ps +
                                       std::max<std::int64_t>(op.bytes - 1, 0) * p.byte_overhead_ps;
                        if (op.reduces()) host_ps += op.bytes * p.byte_reduction_ps;
                        if (op.kind == OpKind::copy) host_ps += op.bytes * p.byte_copy_ps;
                    }
                }
                EXPECT_EQ(test::outcome_of(machine).cpu_ps, of_host)
                    << spec.name << " " << known->name << (reaches_all ? ", all" : "");
            }
            ++algorithms;
        }
    }
    EXPECT_GT(algorithms, 50);
}

// A barrier has four peers to send to, and four to receive from.
TEST(Progress, TheHostGivesTheCardItsLists) {
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    progress.list_ps = 300 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 8 * 300 + 4 * (100 + 2500 + 100));
    EXPECT_EQ(barrier(progress).cpu_ns, 8 * 300);
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 8 * 300 + 100'000);
    EXPECT_EQ(barrier(progress).waiting_ns, 0);
}

// Of 1000 bytes after the first. The receiver's card clears the message at once.
TEST(Progress, ACardClearsLargeMessagesUnasked) {
    LogGpParameters p;
    p.eager_bytes_max = 100;
    const auto message = [&](std::int64_t late_ns) {
        Disturbance late;
        late.skew = Disturbance::Skew::late;
        late.skew_ps = late_ns * ns;
        LogGpMachine machine(p, late);
        Progress progress;
        progress.by = Progress::By::offload;
        progress.trigger_ps = 100 * ns;
        machine.set_progress(progress);
        ScheduleBuilder sender(0, 2), receiver(1, 2);
        // Others of the lane are small, and are not held up.
        for (const std::int64_t bytes : {1, 1001, 2}) {
            sender.send(sender.scratch(bytes), 1);
            receiver.recv(receiver.scratch(bytes), 0);
        }
        for (ScheduleBuilder* builder : {&sender, &receiver}) machine.add(*builder->seal());
        const LogGpOutcome outcome = test::outcome_of(machine);
        EXPECT_EQ(outcome.events, 9u);
        return outcome.end_ps[1] / ns;
    };
    EXPECT_EQ(message(0), 100 + 2500 + 100 + 2500 + 1000 * 6 + 100) << "a CTS, and the data";
    EXPECT_EQ(message(100'000), 100'000 + 100 + 1000 + (1000 + 1000 * 6) + 2500 + 6 + 100)
        << "the last message follows the others through the interface";
    // A ring's receives are all posted at the start: their CTS go before the first data, and then
    // there are none.
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    const std::int64_t step_ns = 100 + 2500 + 1000 * 6 + 100;
    EXPECT_EQ(simulate("allgather", "ring", 1001, progress).end_ns, 15 * step_ns);
    EXPECT_EQ(simulate("allgather", "ring", 1001, progress, p).end_ns, 15 * 1000 + 15 * step_ns);
    // Ends that disagree about a message's size.
    for (const std::int64_t sent : {1, 1001}) {
        LogGpMachine machine(p);
        machine.set_progress(progress);
        ScheduleBuilder sender(0, 2), receiver(1, 2);
        sender.send(sender.scratch(sent), 1);
        receiver.recv(receiver.scratch(1002 - sent), 0);
        for (ScheduleBuilder* builder : {&sender, &receiver}) machine.add(*builder->seal());
        EXPECT_FALSE(machine.run().is_ok());
    }
}

TEST(Progress, WhoWaits) {
    EXPECT_EQ(barrier({}).waiting_ns, 4 * 2500);
    // The first message comes while the rank computes; the others are waited for.
    EXPECT_EQ(barrier(host(100'000, 0)).waiting_ns, 3 * 2500);
    EXPECT_EQ(barrier(host(100'000, 1000)).waiting_ns, 0);
    Progress thread;
    thread.by = Progress::By::thread;
    thread.compute_ps = 20'000 * ns;
    EXPECT_EQ(barrier(thread).waiting_ns, 2000) << "for its thread, to 22000";
    Progress card;
    card.by = Progress::By::offload;
    EXPECT_EQ(barrier(card).waiting_ns, 4 * 2500);
    card.compute_ps = 9000 * ns;
    EXPECT_EQ(barrier(card).waiting_ns, 1000);
}

// It works like a host that looks all the time, and stops the computation whenever it wakes.
TEST(Progress, AThreadMayShareItsCore) {
    Progress progress;
    progress.by = Progress::By::thread;
    progress.shares_core = true;
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 100'000 + 8 * 1500);
    progress.wake_ps = 700 * ns;
    const Simulated done = barrier(progress);
    EXPECT_EQ(done.cpu_ns, 8 * 1500 + 4 * 700);
    EXPECT_EQ(done.end_ns, 100'000 + done.cpu_ns);
    EXPECT_EQ(done.waiting_ns, 0);
    // Of each way of 2500, 1000 is computed in the first.
    progress.compute_ps = 1000 * ns;
    const Simulated waits = barrier(progress);
    EXPECT_EQ(waits.end_ns, 4 * (5500 + 700));
    EXPECT_EQ(waits.waiting_ns, 1500 + 3 * 2500);
    progress.shares_core = false;
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress).end_ns, 100'000);
}

// All CPUs are taken away from 0 to 2000, 10000 to 12000 and so on.
Disturbance noise() {
    Disturbance disturbance;
    disturbance.period_ps = 10'000 * ns;
    disturbance.noise_ps = 2000 * ns;
    disturbance.has_noise_together = true;
    return disturbance;
}

// What is done in 8 of 10 us each.
TEST(Progress, NoiseDelaysComputingToo) {
    const Simulated quiet = barrier(host(100'000, 400));
    EXPECT_EQ(quiet.end_ns, 112'000);
    for (const std::int64_t poll_ns : {400, 200}) {
        const Simulated noisy = barrier(host(100'000, poll_ns), noise());
        EXPECT_EQ(noisy.end_ns, 14 * 10'000) << "112000 in 14 times 8000";
        EXPECT_EQ(noisy.disturbed_ns, 14 * 2000);
        EXPECT_EQ(noisy.cpu_ns, 12'000);
        EXPECT_EQ(noisy.waiting_ns, 0);
    }
    // Once all is computed only the collective is left: from 2000 the first send; computed from
    // 3500 on.
    const Simulated never = barrier(host(16'000, 0), noise());
    // 6500 until 10000, 8000 until 20000, 1500 until 23500. Then a receive and a send until 26500,
    // and again from 29000 to 34000, noise included, and from 36500 to 39500; the last receive
    // begins at 42000.
    EXPECT_EQ(never.end_ns, 43'500);
}

TEST(Progress, NoiseIsNotTheCards) {
    Progress progress;
    progress.by = Progress::By::offload;
    progress.trigger_ps = 100 * ns;
    EXPECT_EQ(barrier(progress, noise()).end_ns, 4 * (100 + 2500 + 100));
    EXPECT_EQ(barrier(progress, noise()).disturbed_ns, 0);
    progress.compute_ps = 80'000 * ns;
    const Simulated done = barrier(progress, noise());
    EXPECT_EQ(done.end_ns, 100'000) << "what is computed suffers";
    EXPECT_EQ(done.disturbed_ns, 10 * 2000);
}

TEST(Progress, NoiseDelaysAThread) {
    Progress progress;
    progress.by = Progress::By::thread;
    // From 2000: sends until 3500, receives from 6000 to 7500, sends until 9000, has received at
    // 14000 (11500 is within noise, 12000 to 13500), sends until 15000, received at 19000, sends
    // until 22500, received at 26500.
    EXPECT_EQ(barrier(progress, noise()).end_ns, 26'500);
    progress.shares_core = true;
    EXPECT_EQ(barrier(progress, noise()).end_ns, 26'500);
    progress.compute_ps = 100'000 * ns;
    EXPECT_EQ(barrier(progress, noise()).end_ns, 140'000);
    progress.shares_core = false;
    const Simulated done = barrier(progress, noise());
    EXPECT_EQ(done.end_ns, 126'000) << "12 times 8000 until 120000, then 4000 from 122000";
    EXPECT_EQ(done.waiting_ns, 0);
}

// Without noise at one time, everything still takes as much CPU, and no less time.
TEST(Progress, NoiseOfEachRank) {
    Disturbance disturbance = noise();
    disturbance.has_noise_together = false;
    disturbance.jitter_ps = 500 * ns;
    for (const bool is_thread : {false, true}) {
        for (const bool shares : {false, true}) {
            Progress progress = host(100'000, 700, 50);
            if (is_thread) progress.by = Progress::By::thread;
            progress.shares_core = shares;
            const algorithm::CollectiveSpec* const spec = algorithm::find_spec("barrier");
            algorithm::GlobalArgs agreed;
            agreed.ranks = 100;
            LogGpMachine machine({}, disturbance);
            machine.set_progress(progress);
            for (Rank r = 0; r < agreed.ranks; ++r)
                machine.add(*build_rank(*spec->find("dissemination"),
                                        spec->problem(agreed, r, /*in_place=*/true)));
            Result<LogGpOutcome> outcome = machine.run();
            ASSERT_TRUE(outcome.is_ok()) << last_detail();
            for (std::size_t r = 0; r < outcome->end_ps.size(); ++r) {
                EXPECT_GE(outcome->end_ps[r], 100'000 * ns);
                EXPECT_GE(outcome->waiting_ps[r], 0);
                EXPECT_LE(outcome->waiting_ps[r], outcome->end_ps[r]);
                EXPECT_GT(outcome->disturbed_ps[r], 0);
            }
        }
    }
}

}  // namespace weft::simulate::progress_test
