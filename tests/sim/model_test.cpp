// LogGP's formulas and bounds, against the equations by hand and the LogGP machine.
#include "algorithm/catalogue.h"
#include "model/closed_form.h"
#include "model/measured.h"
#include "shape/power.h"
#include "sim/case_paper.h"
#include "sim/loggp.h"
#include "sim/lower_bound.h"
#include "support/test.h"

namespace weft::model::model_test {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;
using simulate::lower_bound;

// In ns, as published; a fast network that combines; a slow interface.
constexpr LogGpParameters plain{2'500'000, 1'500'000, 1'000'000, 6'000, 0, 0, 0, 1 << 30};
constexpr LogGpParameters fast{1'400'123, 200'000, 600'000, 180, 0, 31, 0, 1 << 30};
constexpr LogGpParameters slow_interface{5'000'000, 1'000'000, 7'000'000, 2'000,
                                         0,         500,       0,         1 << 30};
const std::vector<LogGpParameters> all_parameters = {plain, fast, slow_interface};
// Its CPU takes longer for a byte than its interface.
constexpr LogGpParameters slow_cpu{1'000'000, 300'000, 200'000, 1'000, 4'000, 500, 0, 1 << 30};

// Nothing but g and G.
constexpr LogGpParameters gaps{0, 0, 3'000'000, 6'000, 0, 0, 0, 1 << 30};

const char* const collectives[] = {
    "barrier",  "bcast",  "gather", "scatter", "allgather",           "allreduce",
    "alltoall", "reduce", "scan",   "exscan",  "reduce_scatter_block"};

GlobalArgs call(const CollectiveSpec& spec, Rank ranks, std::int64_t bytes) {
    GlobalArgs agreed;
    agreed.collective = spec.collective;
    agreed.ranks = ranks;
    agreed.bytes = spec.has_data() ? bytes : 0;
    agreed.tuning.segment_bytes = 256;
    return agreed;
}

// In place, where that is possible: copies are not in the formulas.
std::vector<Schedule> schedules_of(const CollectiveSpec& spec, const Algorithm& algorithm,
                                   const GlobalArgs& agreed) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < agreed.ranks; ++r) {
        Result<Schedule> schedule =
            build_rank(algorithm, spec.problem(agreed, r, spec.has_in_place()));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

std::int64_t simulated(const std::vector<Schedule>& schedules, const LogGpParameters& p,
                       const simulate::TorusParameters* torus = nullptr) {
    simulate::LogGpMachine machine(p, {}, torus);
    for (const Schedule& schedule : schedules) machine.add(schedule);
    const Result<simulate::LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    return std::ranges::max((*outcome).end_ps);
}

std::int64_t simulated(const CollectiveSpec& spec, const Algorithm& algorithm,
                       const GlobalArgs& agreed, const LogGpParameters& p) {
    return simulated(schedules_of(spec, algorithm, agreed), p);
}

void expect_exact(const char* collective, const char* name, Rank ranks, std::int64_t bytes,
                  const LogGpParameters& p) {
    const CollectiveSpec& spec = *algorithm::find_spec(collective);
    const Algorithm* const known = spec.find(name);
    ASSERT_NE(known, nullptr) << collective << " " << name;
    const GlobalArgs agreed = call(spec, ranks, bytes);
    const auto time = closed_form(*known, agreed, p);
    ASSERT_TRUE(time.has_value());
    EXPECT_EQ(time->time_ps, simulated(spec, *known, agreed, p))
        << collective << " " << name << ", " << ranks << " ranks, " << bytes << " bytes";
}

// L 2500, o 1500, G 6, gamma 2; 9 ranks: 4 rounds.
TEST(CasePaper, Equations) {
    LogGpParameters p = plain;
    p.byte_reduction_ps = 2000;
    constexpr std::int64_t ns = 1000;
    EXPECT_EQ(paper_barrier(p, 9), (ModelTime{22000 * ns, 12000 * ns}));
    EXPECT_EQ(paper_bcast(p, 9, 100), (ModelTime{24400 * ns, 12000 * ns}));
    EXPECT_EQ(paper_allreduce(p, 9, 100), (ModelTime{49600 * ns, 24800 * ns}));
    EXPECT_EQ(paper_allreduce(p, 9, 100).network_ps(), 24800 * ns);
    EXPECT_EQ(paper_bcast(p, 1, 100), ModelTime{});
    EXPECT_EQ(paper_bcast(p, 1 << 20, std::int64_t{1} << 62).time_ps, time_max_ps);
}

// They differ by G a message: it is mG in the paper.
TEST(CasePaper, AgreesWithTheClaims) {
    for (const LogGpParameters& p : all_parameters) {
        for (const Rank ranks : {2, 16, 100, 1024}) {
            const std::int64_t rounds = ceil_log2(ranks);
            const auto of = [&](const char* collective, const char* name) {
                const CollectiveSpec& spec = *algorithm::find_spec(collective);
                return *closed_form(*spec.find(name), call(spec, ranks, 1000), p);
            };
            EXPECT_EQ(of("barrier", "dissemination"), paper_barrier(p, ranks));
            ModelTime bcast = paper_bcast(p, ranks, 1000);
            bcast.time_ps -= rounds * p.byte_gap_ps;
            EXPECT_EQ(of("bcast", "binomial"), bcast);
            ModelTime allreduce = paper_allreduce(p, ranks, 1000);
            allreduce.time_ps -= 2 * rounds * p.byte_gap_ps;
            EXPECT_EQ(of("allreduce", "reduce_bcast"), allreduce);
        }
    }
}

TEST(ClosedForm, IsExactWhereAllRanksWaitForEachOther) {
    for (const LogGpParameters& p : all_parameters) {
        for (Rank ranks = 2; ranks <= 1024; ranks += ranks < 20 ? 1 : ranks)
            expect_exact("barrier", "dissemination", ranks, 0, p);
        for (const std::int64_t bytes : {1, 64, 5000}) {
            for (const Rank ranks : {2, 3, 4, 7, 16, 100}) {
                expect_exact("allgather", "ring", ranks, bytes, p);
                if (ranks != 3) expect_exact("allgather", "circulant", ranks, bytes, p);
            }
            for (const Rank ranks : {2, 4, 8, 16, 256}) {
                expect_exact("allreduce", "recursive_doubling", ranks, bytes, p);
                if (&p != &all_parameters[2]) expect_exact("bcast", "binomial", ranks, bytes, p);
            }
        }
    }
}

TEST(ClosedForm, LargeMessagesAskFirst) {
    LogGpParameters p = fast;
    p.eager_bytes_max = 1000;
    expect_exact("bcast", "binomial", 2, 1000, p);
    expect_exact("bcast", "binomial", 2, 1001, p);
    expect_exact("allgather", "ring", 2, 5000, p);
}

// In a pipeline of two segments, each longer than any time.
TEST(ClosedForm, EndsAtTheLongestTime) {
    LogGpParameters p = plain;
    p.byte_overhead_ps = 1'000'000'000'000;
    const CollectiveSpec& spec = *algorithm::find_spec("bcast");
    for (const Rank ranks : {2, 3, 8}) {
        GlobalArgs agreed = call(spec, ranks, std::int64_t{1} << 40);
        agreed.tuning.segment_bytes = std::int64_t{1} << 39;
        const auto time = closed_form(*spec.find("chain"), agreed, p);
        ASSERT_TRUE(time.has_value());
        EXPECT_EQ(time->time_ps, time_max_ps) << ranks << " ranks";
    }
}

TEST(ClosedForm, NothingWithoutClaims) {
    for (const char* const name : {"gatherv", "alltoallw", "neighbor_alltoall"}) {
        const CollectiveSpec& spec = *algorithm::find_spec(name);
        EXPECT_FALSE(closed_form(*spec.algorithms.front(), call(spec, 4, 8), plain)) << name;
        EXPECT_FALSE(lower_bound(call(spec, 4, 8), plain)) << name;
    }
}

constexpr const char* measured_text =
    "{\"transport\": \"simulated\"}\n"
    "{\"messages\": \"small\", \"bytes_min\": 1, \"bytes_max\": 1024, \"L_ns\": {\"value\": -3, "
    "\"low\": -4, "
    "\"high\": 1}, \"o_s_ns\": {\"value\": 100}, \"o_r_ns\": {\"value\": 200}, \"G_ns_per_byte\": "
    "{\"value\": "
    "0.25}, \"O_ns_per_byte\": {\"value\": 2.28e-18}, \"residual\": 0}\n"
    "{\"messages\": \"large\", \"bytes_min\": 2048, \"bytes_max\": 8192, \"L_ns\": {\"value\": "
    "7500}, "
    "\"o_s_ns\": {\"value\": 3000}, \"o_r_ns\": {\"value\": 3000}, \"g_ns\": {\"value\": 5000}, "
    "\"G_ns_per_byte\": {\"value\": 1}, \"O_ns_per_byte\": {\"value\": 0}}\n"
    "{\"gamma_ns_per_byte\": {\"value\": 0.5}}\n";

TEST(Measured, ParametersByTheSizeOfMessages) {
    const Result<MeasuredParameters> measured = read_measured(measured_text);
    ASSERT_TRUE(measured.is_ok()) << last_detail();
    const LogGpParameters& small = (*measured).of(1024);
    EXPECT_EQ(small.latency_ps, 0);
    EXPECT_EQ(small.overhead_ps, 150'000);
    EXPECT_EQ(small.gap_ps, 200'000) << "not observable";
    EXPECT_EQ(small.byte_gap_ps, 250);
    EXPECT_EQ(small.byte_overhead_ps, 0);
    EXPECT_EQ(small.byte_reduction_ps, 500);
    for (const std::int64_t bytes : {1025, 1 << 30}) {
        const LogGpParameters& large = (*measured).of(bytes);
        EXPECT_EQ(large.latency_ps, 7'500'000);
        EXPECT_EQ(large.gap_ps, 5'000'000);
    }
    const CollectiveSpec& spec = *algorithm::find_spec("bcast");
    for (const std::int64_t bytes : {1024, 1025}) {
        EXPECT_EQ(closed_form(*spec.find("binomial"), call(spec, 8, bytes), *measured),
                  closed_form(*spec.find("binomial"), call(spec, 8, bytes), (*measured).of(bytes)));
    }
}

// Not every writer of JSON puts them after a colon.
TEST(Measured, BlanksDoNotMatter) {
    std::string without = measured_text;
    std::erase(without, ' ');
    const Result<MeasuredParameters> one = read_measured(measured_text);
    const Result<MeasuredParameters> other = read_measured(without);
    ASSERT_TRUE(other.is_ok()) << last_detail();
    for (const std::int64_t bytes : {1024, 8192}) {
        EXPECT_EQ((*other).of(bytes).gap_ps, (*one).of(bytes).gap_ps);
        EXPECT_EQ((*other).of(bytes).byte_reduction_ps, 500);
    }
}

TEST(Measured, WhatIsNotObservableIsThatOfSmallerMessages) {
    const std::string start = "{\"messages\": \"a\", \"bytes_max\": ";
    const std::string bytes =
        "\"G_ns_per_byte\": 0.5, \"O_ns_per_byte\": 0.2, \"O_s_ns_per_byte\": 0.1";
    const auto measured =
        read_measured(start + "8, \"L_ns\": 1, \"o_s_ns\": 2, \"o_r_ns\": 4, " + bytes + "}\n" +
                      start + "64, \"not_observable\": \"L_ns\", " + bytes + "}\n");
    ASSERT_TRUE(measured.is_ok()) << last_detail();
    const auto& large = (*measured).messages_of(64);
    EXPECT_EQ(large.bytes_max, 64);
    EXPECT_EQ(large.parameters.latency_ps, 1000);
    EXPECT_EQ(large.parameters.overhead_ps, 3000) << "the mean";
    EXPECT_EQ(large.send_overhead_ps, 2000);
    EXPECT_EQ(large.recv_overhead_ps, 4000);
    EXPECT_EQ(large.byte_send_overhead_ps, 100);
    EXPECT_EQ(large.byte_recv_overhead_ps, 200) << "no figure of its own";
    EXPECT_FALSE(
        read_measured(start + "8, \"not_observable\": \"L_ns\", " + bytes + "}\n").is_ok());
}

// A byte takes G from end to end, and the CPUs are busy for O beside that.
TEST(Measured, EndsThatWorkAlong) {
    const auto measured = read_measured(
        "{\"messages\": \"eager\", \"bytes_max\": 65536, \"L_ns\": 2500, \"o_s_ns\": 1500, "
        "\"o_r_ns\": 1500, \"ends\": \"along\", \"G_ns_per_byte\": 6, \"O_ns_per_byte\": 2}\n");
    ASSERT_TRUE(measured.is_ok()) << last_detail();
    EXPECT_TRUE((*measured).messages.front().are_ends_along);
    const LogGpParameters& p = (*measured).of(1001);
    simulate::MessageEnds along;
    along.cpu_sends = along.cpu_receives_along = true;
    for (const auto& [collective, name] :
         {std::pair{"allgather", "ring"}, {"bcast", "binomial"}, {"bcast", "chain"}}) {
        const CollectiveSpec& spec = *algorithm::find_spec(collective);
        for (const Rank ranks : {2, 4}) {
            GlobalArgs agreed = call(spec, ranks, 1001);
            agreed.tuning.segment_bytes = 4096;
            simulate::LogGpMachine machine(p);
            machine.set_ends(along);
            for (const Schedule& schedule : schedules_of(spec, *spec.find(name), agreed))
                machine.add(schedule);
            const auto outcome = machine.run();
            ASSERT_TRUE(outcome.is_ok()) << last_detail();
            const auto time = closed_form(*spec.find(name), agreed, *measured);
            EXPECT_EQ(time->time_ps, std::ranges::max((*outcome).end_ps)) << name << " " << ranks;
            EXPECT_LT(time->time_ps, closed_form(*spec.find(name), agreed, p)->time_ps);
        }
    }
}

TEST(Measured, RefusesWithASentence) {
    EXPECT_FALSE(read_measured("").is_ok());
    EXPECT_STREQ(last_detail(), "no parameters of messages in it");
    EXPECT_FALSE(read_measured("\n{\"messages\": \"small\", \"bytes_max\": 8}\n").is_ok());
    EXPECT_STREQ(
        last_detail(),
        "line 2: expected bytes_max, L_ns, o_s_ns, o_r_ns, G_ns_per_byte and O_ns_per_byte");
    for (const std::string number : {"nan", "-nan", "inf"}) {
        std::string text = measured_text;
        text.replace(text.find("7500"), 4, number);
        EXPECT_FALSE(read_measured(text).is_ok()) << number;
        EXPECT_STREQ(
            last_detail(),
            "line 3: expected bytes_max, L_ns, o_s_ns, o_r_ns, G_ns_per_byte and O_ns_per_byte");
    }
}

// Of one byte: the best tree for 8 ranks takes less than a binomial one.
TEST(LowerBound, OfAnItemIsTheBestTree) {
    constexpr std::int64_t ns = 1000;
    const CollectiveSpec& spec = *algorithm::find_spec("bcast");
    for (const auto& [ranks, time_ns] :
         {std::pair{1, 0}, {2, 5500}, {8, 12500}, {16, 15500}, {1024, 34000}, {1 << 20, 64500}})
        EXPECT_EQ(*lower_bound(call(spec, ranks, 1), plain), time_ns * ns) << ranks;
}

// By no algorithm. And no flat algorithm's closed form is far from what is simulated.
TEST(LowerBound, IsNeverBeaten) {
    for (const char* const name : collectives) {
        const CollectiveSpec& spec = *algorithm::find_spec(name);
        for (const Algorithm* const known : spec.algorithms) {
            for (const Rank ranks : {2, 3, 8, 13, 16}) {
                for (const std::int64_t bytes : {0, 1, 64, 1000, 20000}) {
                    const GlobalArgs agreed = call(spec, ranks, bytes);
                    if (!known->unmet_need(agreed).empty()) continue;
                    const std::vector<Schedule> schedules = schedules_of(spec, *known, agreed);
                    for (const LogGpParameters& p : {plain, fast, slow_interface, slow_cpu}) {
                        const auto bound = lower_bound(agreed, p);
                        ASSERT_TRUE(bound.has_value());
                        const std::int64_t end = simulated(schedules, p);
                        EXPECT_LE(*bound, end) << name << " " << known->name << ", " << ranks
                                               << " ranks, " << bytes << " bytes";
                        const auto time = closed_form(*known, agreed, p);
                        if (!time || end == 0 || known->follows_topology) continue;
                        const double ratio =
                            static_cast<double>(time->time_ps) / static_cast<double>(end);
                        EXPECT_TRUE(0.5 < ratio && ratio < 4.2)
                            << name << " " << known->name << ", " << ranks << " ranks, " << bytes
                            << " bytes: " << ratio;
                    }
                }
            }
        }
    }
}

// All bytes of an allgather pass a rank's CPU, whoever they come from, and as many leave some rank.
TEST(LowerBound, OfTheCpu) {
    const CollectiveSpec& spec = *algorithm::find_spec("allgather");
    LogGpParameters p = slow_cpu;
    p.byte_overhead_ps = 200'000;
    EXPECT_EQ(*lower_bound(call(spec, 3, 500), p), 2 * (300'000 + 999 * 200'000));
}

TEST(LowerBound, IsNeverBeatenOnATorus) {
    int algorithms = 0;
    for (const std::vector<Rank>& sizes :
         {std::vector<Rank>{1, 6}, {2, 3}, {4, 4}, {3, 4}, {2, 3, 2}}) {
        for (const std::int64_t link_byte_ps : {100, 6000, 20'000}) {
            const simulate::TorusParameters on{Torus(sizes), link_byte_ps, 70'000};
            for (const char* const name : collectives) {
                const CollectiveSpec& spec = *algorithm::find_spec(name);
                for (const Algorithm* const known : spec.algorithms) {
                    for (const std::int64_t bytes : {0, 1, 1000}) {
                        GlobalArgs agreed = call(spec, on.torus.ranks(), bytes);
                        agreed.torus = &on.torus;
                        if (!known->unmet_need(agreed).empty()) continue;
                        const std::vector<Schedule> schedules = schedules_of(spec, *known, agreed);
                        ++algorithms;
                        for (const LogGpParameters& p : {plain, fast, slow_cpu, gaps}) {
                            const auto bound = lower_bound(agreed, {p, {}, {}, &on});
                            ASSERT_TRUE(bound.has_value());
                            EXPECT_LE(*bound, simulated(schedules, p, &on))
                                << name << " " << known->name << ", " << agreed.ranks << " ranks, "
                                << bytes << " bytes";
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(algorithms, 500);
}

}  // namespace weft::model::model_test
