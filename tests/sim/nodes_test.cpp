// The LogGP machine on nodes with several ranks, which share links that token buckets limit.
#include "algorithm/catalogue.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/test.h"

namespace weft::simulate::nodes_test {

constexpr std::int64_t L = 2'500'000;
constexpr std::int64_t o = 1'500'000;
constexpr std::int64_t G = 1'000;  // of ranks' interfaces
constexpr std::int64_t link_G = 8'000;
constexpr LogGpParameters parameters{L, o, 100'000, G, 0, 0, 0, 1 << 30};
constexpr LogGpParameters inside{300'000, 100'000, 50'000, 500, 200, 0, 0, 1 << 30};

NodesParameters nodes(Rank number, Rank ranks_per_node, std::int64_t burst_bytes = 0) {
    return {number, ranks_per_node, link_G, burst_bytes, inside, /*cores=*/0};
}

struct Message {
    Rank from;
    Rank to;
    std::int64_t bytes;
};

// Each rank's messages one after another, of which a send waits for the receives before it.
LogGpOutcome simulate(const std::vector<Message>& messages, const NodesParameters& on,
                      const LogGpParameters& p = parameters) {
    LogGpMachine machine(p);
    machine.set_nodes(on);
    for (Rank r = 0; r < on.ranks(); ++r) {
        ScheduleBuilder builder(r, on.ranks());
        OpId received = builder.start();
        for (const Message& message : messages) {
            const Region data{Buffer::send, 0, message.bytes};
            if (message.from == r) builder.send(data, message.to, {received});
            if (message.to == r) received = builder.recv(data, message.from);
        }
        const Result<Schedule> schedule = builder.seal();
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    return test::outcome_of(machine);
}

TEST(Nodes, AMessageToAnotherNodeTakesTheSlowerOfInterfaceAndLink) {
    for (const std::int64_t bytes : {1, 2, 1001, 1 << 20}) {
        EXPECT_EQ(simulate({{0, 1, bytes}}, nodes(2, 1)).end_ps[1],
                  2 * o + L + (bytes - 1) * link_G);
        LogGpParameters slow = parameters;
        slow.byte_gap_ps = 2 * link_G;
        EXPECT_EQ(simulate({{0, 1, bytes}}, nodes(2, 1), slow).end_ps[1],
                  2 * o + L + (bytes - 1) * 2 * link_G);
    }
    EXPECT_EQ(simulate({{0, 1, 0}}, nodes(2, 1)).end_ps[1], 2 * o + L);
}

TEST(Nodes, AMessageWithinANodeHasItsOwnParameters) {
    const LogGpOutcome done = simulate({{0, 1, 1001}}, nodes(1, 2));
    EXPECT_EQ(done.end_ps[1], 2 * (100'000 + 1000 * 200) + 300'000 + 1000 * 500);
    EXPECT_EQ(done.cpu_ps[0], 100'000 + 1000 * 200);
}

TEST(Nodes, MessagesWithinANodeDoNotHoldUpTheOthers) {
    const LogGpOutcome done = simulate({{0, 1, 100'001}, {0, 2, 1001}}, nodes(2, 2));
    EXPECT_EQ(done.end_ps[2], 100'000 + 100'000 * 200 + 2 * o + L + 1000 * link_G);
}

// But for parts of a ps of many steps.
bool are_close(std::int64_t a_ps, std::int64_t b_ps) { return std::abs(a_ps - b_ps) <= 100; }

// A barrier of four ranks that compute, by threads that share the cores.
LogGpOutcome barrier_beside_computing(Rank cores, std::int64_t compute_ps, std::int64_t wake_ps = 0,
                                      const Disturbance& late = {}) {
    NodesParameters on = nodes(4, 1);
    on.cores = cores;
    Progress progress;
    progress.by = Progress::By::thread;
    progress.shares_core = true;
    progress.compute_ps = compute_ps;
    progress.wake_ps = wake_ps;
    LogGpMachine machine(parameters, late);
    machine.set_nodes(on);
    machine.set_progress(progress);
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec("barrier");
    algorithm::GlobalArgs agreed;
    agreed.ranks = 4;
    for (Rank r = 0; r < 4; ++r)
        machine.add(
            *build_rank(*spec->find("dissemination"), spec->problem(agreed, r, /*in_place=*/true)));
    return test::outcome_of(machine);
}

// All work of a core is done one after another, and the ways of messages are hidden.
TEST(Nodes, ComputationsAndThreadsShareCores) {
    constexpr std::int64_t compute_ps = 100'000'000;
    const auto outcome_of = [](Rank cores, std::int64_t wake_ps, const Disturbance& late = {}) {
        return barrier_beside_computing(cores, compute_ps, wake_ps, late);
    };
    for (const Rank cores : {4, 2, 1}) {
        const std::int64_t sharers = 4 / cores;
        for (const std::int64_t end : outcome_of(cores, 0).end_ps)
            EXPECT_TRUE(are_close(end, sharers * (compute_ps + 4 * o))) << end;
        const LogGpOutcome woken = outcome_of(cores, 700'000);
        for (Rank core = 0; core < cores; ++core) {
            std::int64_t busy_ps = sharers * compute_ps;
            for (auto r = static_cast<std::size_t>(core); r < 4;
                 r += static_cast<std::size_t>(cores))
                busy_ps += woken.cpu_ps[r];
            EXPECT_TRUE(are_close(woken.end_ps[static_cast<std::size_t>(core)], busy_ps));
        }
        EXPECT_GT(woken.cpu_ps[0], 4 * o);
    }
    // The others compute faster before rank 1 begins, and get done earlier.
    Disturbance late;
    late.skew = Disturbance::Skew::late;
    late.skew_ps = 80'000'000;
    late.late_rank = 1;
    const LogGpOutcome outcome = outcome_of(1, 0, late);
    EXPECT_TRUE(are_close(std::ranges::max(outcome.end_ps), 4 * (compute_ps + 4 * o)));
    EXPECT_EQ(std::ranges::max(outcome.end_ps), outcome.end_ps[1]);
}

// Of a barrier, both ways of messages are waited for, but for what is computed meanwhile: on as
// many cores, or on one.
TEST(Nodes, WhoWaitsOnSharedCores) {
    for (const std::int64_t compute_ps : {0, 1'000'000, 3'000'000, 100'000'000}) {
        const LogGpOutcome own = barrier_beside_computing(4, compute_ps);
        EXPECT_EQ(own.waiting_ps, barrier_beside_computing(0, compute_ps).waiting_ps);
        EXPECT_EQ(own.waiting_ps[0], std::max<std::int64_t>(2 * L - compute_ps, 0));
        // One core: all work of all ranks is one after another, until the last one ends.
        const LogGpOutcome shared = barrier_beside_computing(1, compute_ps);
        const auto last = std::ranges::max_element(shared.end_ps) - shared.end_ps.begin();
        EXPECT_TRUE(
            are_close(shared.waiting_ps[static_cast<std::size_t>(last)],
                      shared.end_ps[static_cast<std::size_t>(last)] - 4 * (compute_ps + 4 * o)))
            << compute_ps;
    }
}

// Ranks 0 and 1 share a node, as do 2 and 3.
TEST(Nodes, RanksThatSendAtOnceShareTheLink) {
    constexpr std::int64_t further = 1000;
    const std::vector<Message> both = {{0, 2, further + 1}, {1, 3, further + 1}};
    LogGpOutcome done = simulate(both, nodes(2, 2));
    EXPECT_EQ(done.end_ps[2], 2 * o + L + further * link_G);
    EXPECT_EQ(done.end_ps[3], 2 * o + L + 2 * further * link_G);
    // Each on a node of its own.
    done = simulate({{0, 4, further + 1}, {2, 6, further + 1}}, nodes(4, 2));
    EXPECT_EQ(done.end_ps[4], 2 * o + L + further * link_G);
    EXPECT_EQ(done.end_ps[6], 2 * o + L + further * link_G);
}

TEST(Nodes, RanksThatReceiveAtOnceShareTheLink) {
    constexpr std::int64_t further = 1000;
    LogGpOutcome done = simulate({{0, 4, further + 1}, {2, 5, further + 1}}, nodes(3, 2));
    EXPECT_EQ(done.end_ps[4], 2 * o + L + further * link_G);
    EXPECT_EQ(done.end_ps[5], 2 * o + L + 2 * further * link_G);
    // The two directions of a link do not hold each other up.
    done = simulate({{0, 2, further + 1}, {3, 1, further + 1}}, nodes(2, 2));
    EXPECT_EQ(done.end_ps[1], 2 * o + L + further * link_G);
    EXPECT_EQ(done.end_ps[2], 2 * o + L + further * link_G);
}

TEST(Nodes, ABurstPassesUnshaped) {
    constexpr std::int64_t burst = 131'072;
    for (const std::int64_t bytes : {2, 4096, 131'072, 131'073}) {
        EXPECT_EQ(simulate({{0, 1, bytes}}, nodes(2, 1, burst)).end_ps[1],
                  2 * o + L + (bytes - 1) * G);
    }
    // Where the message is so long that the bucket is empty before its end: as many tokens as a
    // burst are there from the beginning.
    constexpr std::int64_t bytes = 1'000'001;
    EXPECT_EQ(simulate({{0, 1, bytes}}, nodes(2, 1, burst)).end_ps[1],
              2 * o + L + (bytes - 1 - burst) * link_G);
}

TEST(Nodes, RanksShareABurst) {
    constexpr std::int64_t further = 1000;
    const std::vector<Message> both = {{0, 2, further + 1}, {1, 3, further + 1}};
    const LogGpOutcome done = simulate(both, nodes(2, 2, 1500));
    EXPECT_EQ(done.end_ps[2], 2 * o + L + further * G);
    EXPECT_EQ(done.end_ps[3], 2 * o + L + (2 * further - 1500) * link_G);
}

// Rank 1 answers a message of a burst; that it takes to the answer's end lets the first bucket fill
// by so much.
TEST(Nodes, TheBucketRefills) {
    constexpr std::int64_t further = 1000;
    // The same direction twice, with a pause of a small message and its way back between them.
    const std::vector<Message> twice = {{0, 1, further + 1}, {1, 0, 1}, {0, 1, further + 1}};
    const std::int64_t first = 2 * o + L + further * G;
    const std::int64_t second_enters = first + 2 * o + L + o;
    const std::int64_t full_after = std::max(o + further * link_G, second_enters);
    EXPECT_EQ(full_after, second_enters) << "the pause is long enough";
    EXPECT_EQ(simulate(twice, nodes(2, 1, further)).end_ps[1], 2 * first + 2 * o + L);
    // Ten times as much empties a bucket of that size, and the pause fills it in part.
    constexpr std::int64_t much = 10 * further;
    const std::vector<Message> long_twice = {{0, 1, much + 1}, {1, 0, 1}, {0, 1, much + 1}};
    const std::int64_t first_comes = 2 * o + L + (much - much / 2) * link_G;
    const std::int64_t again = first_comes + 2 * o + L + o;  // the second enters the link out
    const std::int64_t tokens = much / 2 - (o + much * link_G - again) / link_G;
    ASSERT_GT(tokens, 0);
    ASSERT_LT(tokens, much / 2);
    EXPECT_EQ(simulate(long_twice, nodes(2, 1, much / 2)).end_ps[1],
              again + (much - tokens) * link_G + L + o);
}

TEST(Nodes, LargeMessagesAskFirst) {
    LogGpParameters p = parameters;
    p.eager_bytes_max = 1000;
    EXPECT_EQ(simulate({{0, 1, 1001}}, nodes(2, 1), p).end_ps[1], 4 * o + 3 * L + 1000 * link_G);
    const LogGpOutcome within = simulate({{0, 1, 1001}}, nodes(1, 2), p);
    EXPECT_EQ(within.end_ps[1],
              3 * 300'000 + 2 * 100'000 + 2 * (100'000 + 1000 * 200) + 1000 * 500);
}

TEST(Nodes, RanksMayShareCores) {
    NodesParameters on = nodes(2, 2);
    on.cores = 1;
    // Of empty messages, the second one is sent o later; receives take the core in turn.
    const LogGpOutcome done = simulate({{0, 2, 1}, {1, 3, 1}}, on);
    EXPECT_EQ(done.end_ps[2], 2 * o + L);
    EXPECT_EQ(done.end_ps[3], 3 * o + L);
    EXPECT_EQ(done.cpu_ps[3], o);
}

TEST(Nodes, ACoreSwitchesToAnotherRank) {
    NodesParameters on = nodes(2, 1);
    on.cores = 1;
    on.switch_ps = 700'000;
    // The first work of a core needs no switch, that of the other rank does.
    const LogGpOutcome done = simulate({{0, 1, 1}, {1, 0, 1}}, on);
    EXPECT_EQ(done.end_ps[1], 2 * o + L + on.switch_ps + o);
    EXPECT_EQ(done.end_ps[0], 2 * (2 * o + L + on.switch_ps));
    EXPECT_EQ(done.cpu_ps[0], 2 * o) << "a switch is no work of a rank";
    on.cores = 2;
    EXPECT_EQ(simulate({{0, 1, 1}, {1, 0, 1}}, on).end_ps[0], 2 * (2 * o + L));
}

// Rank 0's second message comes after its first was received, rank 2's while the first waits for
// the core.
TEST(Nodes, ARankDoesAllThatItHasInOneTurn) {
    NodesParameters on = nodes(4, 1);
    on.cores = 2;
    on.switch_ps = 7 * o;
    const LogGpOutcome done = simulate({{1, 0, 1}, {1, 2, 1}, {1, 0, 1}, {1, 2, 1}}, on);
    EXPECT_EQ(done.end_ps[0], 4 * o + L + 2 * on.switch_ps);
    EXPECT_EQ(done.end_ps[2], 5 * o + L + 2 * on.switch_ps);
}

// Bytes that cost the CPUs as much as the link: beside each other, or one after the other.
TEST(Nodes, CpusWorkOnBytesBesideTheirWay) {
    constexpr std::int64_t further = 1000;
    LogGpParameters p = parameters;
    p.byte_overhead_ps = link_G / 2;
    const auto end = [&](bool along, std::int64_t reduced) {
        LogGpMachine machine(p);
        machine.set_nodes(nodes(2, 1));
        MessageEnds ends;
        ends.cpu_sends = ends.cpu_receives_along = along;
        machine.set_ends(ends);
        ScheduleBuilder here(0, 2), there(1, 2);
        here.send(here.scratch(further + 1), 1);
        there.recv(there.scratch(further + 1), 0);
        if (reduced > 0) there.reduce(there.scratch(reduced), there.scratch(reduced));
        for (ScheduleBuilder* builder : {&here, &there}) {
            const Result<Schedule> schedule = builder->seal();
            EXPECT_TRUE(schedule.is_ok()) << last_detail();
            machine.add(*schedule);
        }
        Result<LogGpOutcome> outcome = machine.run();
        EXPECT_TRUE(outcome.is_ok()) << last_detail();
        EXPECT_EQ(outcome->cpu_ps[0], o + further * link_G / 2);
        return outcome->end_ps[1];
    };
    const std::int64_t way = 2 * o + L + further * link_G;
    EXPECT_EQ(end(/*along=*/false, 0), way + further * link_G);
    EXPECT_EQ(end(/*along=*/true, 0), way);
    // A CPU that is busy until the last byte has come has all of them before it.
    p.byte_reduction_ps = 100'000;
    const std::int64_t busy = o + L + further * link_G;
    EXPECT_EQ(end(/*along=*/true, busy / p.byte_reduction_ps), busy + o + further * link_G / 2);
}

// As far as both know, nodes of one rank and links as fast as interfaces are the flat network.
TEST(Nodes, OfOneRankAreTheFlatNetwork) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec("allreduce");
    for (const char* name : {"recursive_doubling", "ring", "rabenseifner"}) {
        algorithm::GlobalArgs agreed;
        agreed.ranks = 16;
        agreed.bytes = 4096;
        NodesParameters on = nodes(16, 1);
        on.link_byte_ps = G;
        LogGpMachine flat(parameters);
        LogGpMachine on_nodes(parameters);
        on_nodes.set_nodes(on);
        for (Rank r = 0; r < agreed.ranks; ++r) {
            const Result<Schedule> schedule =
                build_rank(*spec->find(name), spec->problem(agreed, r, /*in_place=*/true));
            ASSERT_TRUE(schedule.is_ok()) << last_detail();
            flat.add(*schedule);
            on_nodes.add(*schedule);
        }
        Result<LogGpOutcome> expected = flat.run();
        Result<LogGpOutcome> outcome = on_nodes.run();
        ASSERT_TRUE(expected.is_ok() && outcome.is_ok()) << last_detail();
        EXPECT_EQ(outcome->end_ps, expected->end_ps) << name;
        EXPECT_EQ(outcome->events, expected->events) << name;
    }
}

}  // namespace weft::simulate::nodes_test
