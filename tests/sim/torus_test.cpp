// The LogGP machine on a torus whose links go one way.
#include "algorithm/catalogue.h"
#include "lab/round_time.h"
#include "shape/power.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::simulate::torus_test {

constexpr LogGpParameters parameters{2'500'000, 1'500'000, 1'000'000, 6'000, 0, 0, 0, 1 << 30};

struct Call {
    const char* collective;
    const char* algorithm;
    std::int64_t bytes;
};

LogGpOutcome simulate(const Call& call, const TorusParameters& on,
                      const LogGpParameters& p = parameters, bool is_flat = false) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec(call.collective);
    algorithm::GlobalArgs agreed;
    agreed.ranks = on.torus.ranks();
    agreed.bytes = call.bytes;
    agreed.torus = &on.torus;
    LogGpMachine machine(p, {}, is_flat ? nullptr : &on);
    for (Rank r = 0; r < agreed.ranks; ++r) {
        const Result<Schedule> schedule =
            build_rank(*spec->find(call.algorithm), spec->problem(agreed, r, /*in_place=*/true));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    return test::outcome_of(machine);
}

std::int64_t time_of(const Call& call, const TorusParameters& on) {
    return std::ranges::max(simulate(call, on).end_ps);
}

TorusParameters torus(std::vector<Rank> sizes, std::int64_t link_byte_ps = 6000,
                      std::int64_t hop_ps = 0) {
    return {Torus(std::move(sizes)), link_byte_ps, hop_ps};
}

// Of `load` messages on the fullest link.
std::int64_t message_ps(std::int64_t bytes, Rank load = 1) {
    return 2 * parameters.overhead_ps + parameters.latency_ps + load * (bytes - 1) * 6000;
}

TEST(TorusMachine, AMessageAloneHasTheSlowestOfInterfaceAndLinks) {
    const Call call{"bcast", "binomial", 1001};
    EXPECT_EQ(time_of(call, torus({1, 2})), message_ps(1001));
    EXPECT_EQ(time_of(call, torus({1, 2}, 2000)), message_ps(1001));
    EXPECT_EQ(time_of(call, torus({1, 2}, 9000)), message_ps(1001) + 1000 * 3000);
    EXPECT_EQ(time_of(call, torus({1, 2}, 6000, 70'000)), message_ps(1001) + 70'000);
}

// Neighbours exchange: no link has two messages.
TEST(TorusMachine, ARingIsAsFastAsWithoutATorus) {
    for (const std::vector<Rank>& sizes : {std::vector<Rank>{1, 8}, {4, 4}, {3, 5}, {2, 3, 4}}) {
        const TorusParameters on = torus(sizes);
        EXPECT_EQ(time_of({"allgather", "ring", 500}, on),
                  (on.torus.ranks() - 1) * message_ps(500));
    }
}

// Half of the pairs run backwards around a ring of k: k/2 messages on a link in every round.
TEST(TorusMachine, RecursiveDoublingSharesLinks) {
    for (const auto& [sizes, load] :
         {std::pair{std::vector<Rank>{1, 8}, 4}, {{4, 4}, 2}, {{8, 8}, 4}, {{4, 4, 4}, 2}}) {
        const TorusParameters on = torus(sizes);
        EXPECT_EQ(time_of({"allreduce", "recursive_doubling", 1001}, on),
                  ceil_log2(on.torus.ranks()) * message_ps(1001, load));
    }
}

// Interfaces of 1 byte in 6 ns on links of 1 byte in 3: contention begins with the third message.
TEST(TorusMachine, FasterLinksCarryTwoMessages) {
    EXPECT_EQ(time_of({"allreduce", "recursive_doubling", 1001}, torus({4, 4}, 3000)),
              4 * message_ps(1001));
    EXPECT_EQ(time_of({"allreduce", "recursive_doubling", 1001}, torus({8, 8}, 3000)),
              6 * message_ps(1001, 2));
}

// Ranks 2 n and 2 n + 1 are at node n. The messages start at once, and go from node 0 to node 1.
TEST(TorusMachine, RanksOfANodeShareItsInterface) {
    NodesParameters nodes;
    nodes.nodes = 4;
    nodes.ranks_per_node = 2;
    nodes.inside = {300'000, 100'000, 50'000, 500, 0, 0, 0, 1 << 30};
    const auto ends_of = [&](const std::vector<std::pair<Rank, Rank>>& messages,
                             const TorusParameters& on, const MessageEnds& ends = {}) {
        LogGpMachine machine(parameters, {}, &on);
        machine.set_nodes(nodes);
        machine.set_ends(ends);
        for (Rank r = 0; r < nodes.ranks(); ++r) {
            ScheduleBuilder builder(r, nodes.ranks());
            const Region data{Buffer::send, 0, 1001};
            for (const auto& [from, to] : messages) {
                if (from == r) builder.send(data, to);
                if (to == r) builder.recv(data, from);
            }
            machine.add(*builder.seal());
        }
        Result<LogGpOutcome> outcome = machine.run();
        EXPECT_TRUE(outcome.is_ok()) << last_detail();
        return outcome->end_ps;
    };
    const TorusParameters on = torus({1, 4}, 3000, 70'000);
    EXPECT_EQ(ends_of({{0, 2}}, on)[2], message_ps(1001) + 70'000);
    EXPECT_EQ(ends_of({{0, 2}, {1, 3}}, on)[3], message_ps(1001, 2) + 70'000);
    EXPECT_EQ(ends_of({{0, 2}, {1, 4}}, on)[2], message_ps(1001, 2) + 70'000);
    const std::int64_t within_ps = 2 * 100'000 + 300'000 + 1000 * 500;
    for (const bool cpu_sends : {false, true}) {
        MessageEnds ends;
        ends.cpu_sends = cpu_sends;
        const std::vector<std::int64_t> done = ends_of({{0, 2}, {1, 0}}, on, ends);
        EXPECT_EQ(done[2], message_ps(1001) + 70'000) << "as if it was alone";
        EXPECT_EQ(ends_of({{1, 0}}, on, ends)[0], within_ps);
    }
}

std::int64_t by_rounds(const Call& call, const TorusParameters& on) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec(call.collective);
    algorithm::GlobalArgs agreed;
    agreed.ranks = on.torus.ranks();
    agreed.bytes = call.bytes;
    agreed.torus = &on.torus;
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < agreed.ranks; ++r)
        schedules.push_back(
            *build_rank(*spec->find(call.algorithm), spec->problem(agreed, r, /*in_place=*/true)));
    RoundCosts costs;
    costs.message_ps = 2 * parameters.overhead_ps + parameters.latency_ps;
    costs.interface_byte_ps = parameters.byte_gap_ps;
    costs.link_byte_ps = on.link_byte_ps;
    costs.hop_ps = on.hop_ps;
    costs.eager_bytes_max = parameters.eager_bytes_max;
    const Result<std::int64_t> time_ps = time_by_rounds_ps(schedules, on.torus, costs);
    EXPECT_TRUE(time_ps.is_ok()) << last_detail();
    return *time_ps;
}

TEST(TorusRounds, SumOfTheLargestLinkLoads) {
    const auto rounds = [](std::int64_t number, std::int64_t loads) {
        return number * message_ps(1) + loads * 1000 * 6000;
    };
    const Call pairwise{"alltoall", "pairwise", 1001};
    EXPECT_EQ(by_rounds(pairwise, torus({1, 8})), rounds(7, 28));
    EXPECT_EQ(by_rounds(pairwise, torus({4, 4})), rounds(15, 30));
    EXPECT_EQ(by_rounds(pairwise, torus({8, 8})), rounds(63, 252));
    EXPECT_EQ(by_rounds({"alltoall", "shift", 1001}, torus({4, 4})), rounds(15, 37));
    EXPECT_EQ(by_rounds({"alltoall", "shift", 1001}, torus({8, 8})), rounds(63, 329));
}

// Where every rank waits for the last message of a round, flows that share links fairly take as
// long.
TEST(TorusRounds, TakeAsLongAsFlows) {
    for (const std::int64_t link_byte_ps : {2000, 6000, 9000}) {
        for (const std::vector<Rank>& sizes :
             {std::vector<Rank>{1, 8}, {4, 4}, {8, 8}, {4, 4, 4}}) {
            const TorusParameters on = torus(sizes, link_byte_ps);
            for (const Call& call :
                 {Call{"allreduce", "recursive_doubling", 1001}, Call{"allgather", "ring", 500},
                  Call{"barrier", "dissemination", 0}})
                EXPECT_EQ(by_rounds(call, on), time_of(call, on)) << call.algorithm;
        }
    }
}

const char* const collectives[] = {"barrier",   "bcast",    "gather", "scatter",
                                   "allgather", "alltoall", "reduce", "allreduce"};

// The same operations as without a torus, and no alltoall beats what the fullest links must carry.
TEST(TorusMachine, EveryAlgorithmEnds) {
    for (const std::vector<Rank>& sizes : {std::vector<Rank>{4, 4}, {2, 3}, {2, 2, 2}}) {
        const TorusParameters on = torus(sizes, 5000, 100'000);
        for (const char* const name : collectives) {
            for (const algorithm::Algorithm* const known : algorithm::find_spec(name)->algorithms) {
                algorithm::GlobalArgs agreed;
                agreed.ranks = on.torus.ranks();
                agreed.torus = &on.torus;
                if (!known->unmet_need(agreed).empty()) continue;
                for (const std::int64_t eager : {1 << 30, 300}) {
                    LogGpParameters p = parameters;
                    p.eager_bytes_max = eager;
                    const Call call{name, known->name, 1000};
                    SCOPED_TRACE(std::string(name) + " " + known->name);
                    const LogGpOutcome outcome = simulate(call, on, p);
                    const LogGpOutcome flat = simulate(call, on, p, /*is_flat=*/true);
                    EXPECT_EQ(outcome.events, flat.events);
                    EXPECT_EQ(outcome.cpu_ps, flat.cpu_ps);
                    if (std::string(name) != "alltoall") continue;
                    const Rank load = on.torus.ranks() * (std::ranges::max(sizes) - 1) / 2;
                    EXPECT_GE(std::ranges::max(outcome.end_ps), load * 1000 * 5000);
                }
            }
        }
    }
}

TEST(TorusMachine, RefusesTimesThatOverflow) {
    const TorusParameters on = torus({4, 4}, 1'000'000);
    LogGpMachine machine(parameters, {}, &on);
    algorithm::GlobalArgs agreed;
    agreed.ranks = 16;
    agreed.bytes = std::int64_t{1} << 40;
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec("bcast");
    for (Rank r = 0; r < 16; ++r)
        machine.add(*build_rank(*spec->find("binomial"), spec->problem(agreed, r, false)));
    EXPECT_FALSE(machine.run().is_ok());
    EXPECT_TRUE(test::contains(last_detail(), "the simulated time is above 50 days"));
}

}  // namespace weft::simulate::torus_test
