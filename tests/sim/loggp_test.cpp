// The LogGP machine against closed forms, lower bounds, and LogGOPSim's machine where both agree.
#include "sim/loggp.h"

#include <queue>

#include "algorithm/catalogue.h"
#include "lab/every_rank.h"
#include "lab/print/goal.h"
#include "schedule/repeats.h"
#include "shape/power.h"
#include "sim/lgs.h"
#include "support/loggp.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::simulate::loggp_test {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using test::contains;

// In ns, as published; a fast network; a slow CPU.
constexpr LogGpParameters plain{2'500'000, 1'500'000, 1'000'000, 6'000, 0, 0, 0, 1 << 30};
constexpr LogGpParameters fast{1'400'123, 200'000, 600'000, 180, 0, 31, 0, 1 << 30};
constexpr LogGpParameters slow_interface{5'000'000, 1'000'000, 7'000'000, 2'000,
                                         0,         500,       0,         1 << 30};
const std::vector<LogGpParameters> all_parameters = {plain, fast, slow_interface};

struct Call {
    const char* collective;
    const char* algorithm;
    Rank ranks;
    std::int64_t bytes;
    bool in_place = true;
};

std::vector<Schedule> build(const Call& call) {
    const CollectiveSpec* const spec = algorithm::find_spec(call.collective);
    algorithm::GlobalArgs agreed;
    agreed.collective = spec->collective;
    agreed.ranks = call.ranks;
    agreed.bytes = call.bytes;
    agreed.tuning.segment_bytes = 256;
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < call.ranks; ++r) {
        Result<Schedule> schedule =
            build_rank(*spec->find(call.algorithm), spec->problem(agreed, r, call.in_place));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

std::int64_t end_of(const LogGpOutcome& outcome) { return std::ranges::max(outcome.end_ps); }
std::int64_t time_of(const Call& call, const LogGpParameters& p) {
    return end_of(test::simulate_ranks(build(call), p));
}

std::string refusal(std::span<const Schedule> schedules) {
    LogGpMachine machine(plain);
    for (const Schedule& schedule : schedules) machine.add(schedule);
    return machine.run().is_ok() ? "" : last_detail();
}

std::int64_t after_first(std::int64_t bytes) { return std::max<std::int64_t>(bytes - 1, 0); }

// From one rank to another.
std::int64_t message_ps(const LogGpParameters& p, std::int64_t bytes) {
    return 2 * p.overhead_ps + p.latency_ps + after_first(bytes) * p.byte_gap_ps;
}

TEST(LogGp, APointToPointMessage) {
    for (const LogGpParameters& p : all_parameters) {
        for (const std::int64_t bytes : {0, 1, 2, 4096, 1 << 20})
            EXPECT_EQ(time_of({"bcast", "binomial", 2, bytes}, p), message_ps(p, bytes));
    }
}

TEST(LogGp, DisseminationTakesLog2Messages) {
    for (const LogGpParameters& p : all_parameters) {
        for (Rank ranks = 2; ranks <= 1024; ranks += ranks < 40 ? 1 : ranks / 3) {
            const LogGpOutcome outcome =
                test::simulate_ranks(build({"barrier", "dissemination", ranks, 0}), p);
            const std::int64_t rounds = ceil_log2(ranks);
            for (const std::int64_t end : outcome.end_ps)
                ASSERT_EQ(end, rounds * message_ps(p, 0)) << ranks;
            for (const std::int64_t cpu : outcome.cpu_ps)
                ASSERT_EQ(cpu, rounds * 2 * p.overhead_ps) << ranks;
            EXPECT_EQ(outcome.events, static_cast<std::uint64_t>(3 * ranks * rounds));
        }
    }
}

TEST(LogGp, ARingTakesAMessagePerOtherRank) {
    for (const LogGpParameters& p : all_parameters) {
        for (const Rank ranks : {2, 3, 4, 7, 16, 100, 1024}) {
            for (const bool in_place : {false, true}) {
                if (ranks > 100 && !in_place) continue;
                const std::int64_t bytes = ranks > 100 ? 8 : 1000;
                const LogGpOutcome outcome =
                    test::simulate_ranks(build({"allgather", "ring", ranks, bytes, in_place}), p);
                for (const std::int64_t end : outcome.end_ps)
                    ASSERT_EQ(end, (ranks - 1) * message_ps(p, bytes)) << ranks;
            }
        }
    }
}

TEST(LogGp, RecursiveDoublingTakesLog2MessagesAndReductions) {
    for (const LogGpParameters& p : all_parameters) {
        for (Rank ranks = 2; ranks <= 1024; ranks *= 2) {
            for (const std::int64_t bytes : {1, 8, 10'000}) {
                EXPECT_EQ(time_of({"allreduce", "recursive_doubling", ranks, bytes}, p),
                          ceil_log2(ranks) * (message_ps(p, bytes) + bytes * p.byte_reduction_ps));
            }
        }
    }
}

TEST(LogGp, ABinomialTreeTakesLog2Messages) {
    for (const LogGpParameters& p : all_parameters) {
        for (Rank ranks = 2; ranks <= 1024; ranks *= 2) {
            for (const std::int64_t bytes : {0, 8, 10'000}) {
                EXPECT_EQ(time_of({"bcast", "binomial", ranks, bytes}, p),
                          ceil_log2(ranks) * message_ps(p, bytes));
            }
        }
    }
}

// A question, an answer, then the data.
TEST(LogGp, LargeMessagesAskFirst) {
    for (LogGpParameters p : all_parameters) {
        p.eager_bytes_max = 999;
        const std::int64_t asked = 2 * p.latency_ps + 2 * p.overhead_ps;
        EXPECT_EQ(time_of({"bcast", "binomial", 2, 999}, p), message_ps(p, 999));
        EXPECT_EQ(time_of({"bcast", "binomial", 2, 1000}, p), message_ps(p, 1000) + asked);
        // The answer leaves the interface before the data does.
        if (p.gap_ps <= p.latency_ps + p.overhead_ps) {
            EXPECT_EQ(time_of({"allgather", "ring", 9, 1000}, p),
                      8 * (message_ps(p, 1000) + asked));
        }
        const LogGpOutcome outcome = test::simulate_ranks(build({"bcast", "binomial", 2, 1000}), p);
        const std::int64_t last_leaves = 3 * p.overhead_ps + 2 * p.latency_ps + 999 * p.byte_gap_ps;
        EXPECT_EQ(outcome.end_ps[0], last_leaves);
        EXPECT_EQ(outcome.cpu_ps, (std::vector<std::int64_t>(2, 2 * p.overhead_ps)));
    }
}

// All messages come at once; the root's interface takes one after the other.
TEST(LogGp, ManyToOneIsBoundByTheReceiver) {
    const std::int64_t bytes = 1024;
    const std::int64_t ns = 1000;
    // o + L, seven times g + (s-1)G on the interface, less the last one's g, then o.
    EXPECT_EQ(time_of({"gather", "flat", 8, bytes}, plain),
              (1500 + 2500 + 7 * (1000 + 1023 * 6) - 1000 + 1500) * ns);
    // Small ones: g < o, so the CPU takes one after the other.
    EXPECT_EQ(time_of({"gather", "flat", 8, 1}, plain), (1500 + 2500 + 7 * 1500) * ns);
}

// Operations that wait for a few others count them in bytes, those that wait for many in words.
TEST(LogGp, AnOperationWaitsForAnyNumberOfOthers) {
    for (const Rank ranks : {255, 256, 257, 600}) {
        ScheduleBuilder root(0, ranks);
        std::vector<OpId> received;
        for (Rank r = 1; r < ranks; ++r) received.push_back(root.recv(root.scratch(1), r));
        root.send(root.scratch(1), ranks - 1, {root.join(received)});
        std::vector<Schedule> schedules;
        const auto add = [&](ScheduleBuilder& builder) {
            Result<Schedule> schedule = builder.seal();
            ASSERT_TRUE(schedule.is_ok()) << last_detail();
            schedules.push_back(std::move(*schedule));
        };
        add(root);
        for (Rank r = 1; r < ranks; ++r) {
            ScheduleBuilder builder(r, ranks);
            const OpId sent = builder.send(builder.scratch(1), 0);
            if (r == ranks - 1) builder.recv(builder.scratch(1), 0, {sent});
            add(builder);
        }
        const LogGpOutcome outcome = test::simulate_ranks(schedules, plain);
        const std::int64_t ns = 1000;
        // The CPU takes one after the other; the answer follows the last.
        EXPECT_EQ(outcome.end_ps.back(),
                  (1500 + 2500 + (ranks - 1) * 1500 + 1500 + 2500 + 1500) * ns);
    }
}

TEST(LogGp, AgreesWithLogGopsim) {
    const LgsParameters lgs{2500, 1500, 1000, 6, 0, 1 << 30};
    for (const Call& call : std::vector<Call>{{"allgather", "ring", 9, 100},
                                              {"allgather", "dissemination", 16, 1},
                                              {"allreduce", "recursive_doubling", 32, 1000},
                                              {"bcast", "binomial", 64, 5000},
                                              {"bcast", "binomial", 13, 1}}) {
        const CollectiveSpec* const spec = algorithm::find_spec(call.collective);
        if (!spec->find(call.algorithm)) continue;
        const std::vector<Schedule> schedules = build(call);
        const Result<GoalProgram> program = read_goal(to_goal(schedules));
        ASSERT_TRUE(program.is_ok()) << last_detail();
        const Result<LgsOutcome> expected = simulate_lgs(*program, lgs);
        ASSERT_TRUE(expected.is_ok()) << last_detail();
        EXPECT_EQ(end_of(test::simulate_ranks(schedules, plain)),
                  static_cast<std::int64_t>(1000 * std::ranges::max((*expected).end)))
            << call.collective << " " << call.algorithm;
    }
}

// The same schedule with its repeats written out. Iterations begin in order.
Schedule written_out(const Schedule& schedule) {
    ScheduleBuilder builder(schedule.rank(), schedule.ranks());
    const std::vector<Step> steps = unroll(schedule);
    for (const Step& step : steps) builder.add(step.what);
    OpId begin = no_op;  // of an iteration whose end has not come yet
    OpId begin_before = no_op;
    for (OpId id = 0; id < steps.size(); ++id) {
        for (const std::uint32_t after : steps[id].after_completion) builder.order(id, after);
        if (steps[id].id != no_op) continue;
        if (begin == no_op) {
            if (steps[id].iteration > 0) builder.order(begin_before, id);
            begin = id;
        } else {
            begin_before = std::exchange(begin, no_op);
        }
    }
    Result<Schedule> sealed = builder.seal();
    EXPECT_TRUE(sealed.is_ok()) << last_detail();
    return std::move(*sealed);
}

const char* const collectives[] = {"barrier",  "bcast",     "gather",
                                   "scatter",  "allgather", "allreduce",
                                   "alltoall", "reduce",    "reduce_scatter_block",
                                   "scan",     "exscan"};

// Calls `use` with many calls of every algorithm.
template <class Use>
void for_calls(Use use) {
    for (const char* const name : collectives) {
        const CollectiveSpec& spec = *algorithm::find_spec(name);
        for (const Algorithm* const known : spec.algorithms) {
            for (const Rank ranks : {2, 3, 4, 5, 8, 13, 16}) {
                algorithm::GlobalArgs agreed;
                agreed.ranks = ranks;
                if (!known->unmet_need(agreed).empty()) continue;
                for (const std::int64_t bytes : {1, 64, 1000, 2000}) {
                    const Call call{name, known->name, ranks, bytes};
                    SCOPED_TRACE(std::string(name) + " " + known->name + " " +
                                 std::to_string(ranks) + " ranks, " + std::to_string(bytes) +
                                 " bytes");
                    use(call);
                }
            }
        }
    }
}

// Whatever waits for what, every message costs both ends, and every reduction its bytes.
TEST(LogGp, CountsEveryOperation) {
    LogGpParameters p = fast;
    p.byte_copy_ps = 17;
    p.byte_overhead_ps = 5;
    for (const std::int64_t eager : {1 << 30, 500}) {
        p.eager_bytes_max = eager;
        for_calls([&](const Call& call) {
            const std::vector<Schedule> schedules = build(call);
            const LogGpOutcome outcome = test::simulate_ranks(schedules, p);
            std::uint64_t events = 0;
            std::int64_t cpu = 0;
            for (const Schedule& schedule : schedules) {
                for (const Step& step : unroll(schedule)) {
                    const Op& op = step.what;
                    if (step.id == no_op || op.kind == OpKind::join) continue;
                    events += op.kind == OpKind::send ? 2 : 1;
                    if (op.is_message())
                        cpu += p.overhead_ps * (op.bytes > eager ? 2 : 1) +
                               after_first(op.bytes) * p.byte_overhead_ps;
                    else
                        cpu += op.bytes * (op.reduces() ? p.byte_reduction_ps : p.byte_copy_ps);
                }
            }
            EXPECT_EQ(outcome.events, events);
            EXPECT_EQ(
                std::accumulate(outcome.cpu_ps.begin(), outcome.cpu_ps.end(), std::int64_t{0}),
                cpu);
        });
    }
}

// Written out, the first message of a repeat does not hold back the others of its iteration if it
// has to wait for earlier messages of its lane.
bool can_be_written_out(const Schedule& schedule) {
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        for (const Repeat& repeat : schedule.repeats()) {
            if (schedule.after_issue(id).to == repeat.entry) return false;
        }
    }
    return true;
}

TEST(LogGp, RepeatedBlocksTakeAsLongAsWrittenOut) {
    int compared = 0;
    for (const LogGpParameters& p : all_parameters) {
        for_calls([&](const Call& call) {
            const std::vector<Schedule> schedules = build(call);
            const auto has_repeats = [](const Schedule& s) { return !s.repeats().empty(); };
            if (!std::ranges::any_of(schedules, has_repeats)) return;
            if (!std::ranges::all_of(schedules, can_be_written_out)) return;
            std::vector<Schedule> flat;
            for (const Schedule& schedule : schedules) flat.push_back(written_out(schedule));
            const LogGpOutcome rolled = test::simulate_ranks(schedules, p);
            const LogGpOutcome expected = test::simulate_ranks(flat, p);
            EXPECT_EQ(rolled.end_ps, expected.end_ps);
            EXPECT_EQ(rolled.cpu_ps, expected.cpu_ps);
            EXPECT_EQ(rolled.events, expected.events);
            ++compared;
        });
    }
    EXPECT_GT(compared, 50);
}

// How long one item takes to all ranks if nobody who has it ever waits: Karp, Sahay, Santos,
// Schauser: Optimal Broadcast and Summation in the LogP Model, 1993, doi:10.1145/165231.165250
std::int64_t optimal_item_ps(Rank ranks, const LogGpParameters& p) {
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> arrivals;
    const std::int64_t message = message_ps(p, 0);
    arrivals.push(message);
    std::int64_t last = 0;
    for (Rank informed = 1; informed < ranks; ++informed) {
        last = arrivals.top();
        arrivals.pop();
        arrivals.push(last + std::max(p.overhead_ps, p.gap_ps));  // its sender's next
        arrivals.push(last + message);                            // its own first
    }
    return last;
}

TEST(LogGp, TheOptimumOfOneItemIsThePublishedOne) {
    EXPECT_EQ(optimal_item_ps(8, plain), 12'500'000);
    EXPECT_EQ(optimal_item_ps(16, plain), 15'500'000);
    EXPECT_EQ(optimal_item_ps(1024, plain), 34'000'000);
}

// Bytes that some rank has to send or receive.
std::int64_t least_bytes(const Call& call) {
    const std::string name = call.collective;
    const std::int64_t others = (call.ranks - 1) * call.bytes;
    if (name == "barrier") return 0;
    if (name == "bcast" || name == "reduce" || name == "scan" || name == "exscan")
        return call.bytes;
    if (name == "allreduce") return 2 * others / call.ranks;
    return others;  // of gather, scatter, allgather, alltoall, reduce_scatter_block
}

std::int64_t least_reduced_bytes(const Call& call) {
    const std::string name = call.collective;
    const std::int64_t others = (call.ranks - 1) * call.bytes;
    if (name == "reduce" || name == "allreduce") return others / call.ranks;
    return name == "reduce_scatter_block" ? others : 0;
}

TEST(LogGp, NoScheduleBeatsALowerBound) {
    for (const LogGpParameters& p : all_parameters) {
        for_calls([&](const Call& call) {
            const std::int64_t time = time_of(call, p);
            // exscan: the last rank's own contribution goes nowhere.
            const Rank informed = call.ranks - (std::string(call.collective) == "exscan" ? 1 : 0);
            EXPECT_GE(time, optimal_item_ps(informed, p));
            EXPECT_GE(time, least_reduced_bytes(call) * p.byte_reduction_ps);
            if (least_bytes(call) > 0) {
                EXPECT_GE(time, message_ps(p, least_bytes(call)));
            }
        });
    }
}

TEST(LogGp, EqualStructuresAreKeptOnce) {
    const auto structures = [](const Call& call) {
        LogGpMachine machine(plain);
        for (const Schedule& schedule : build(call)) machine.add(schedule);
        return machine.structures();
    };
    EXPECT_EQ(structures({"barrier", "dissemination", 37, 0}), 1u);
    EXPECT_EQ(structures({"allreduce", "recursive_doubling", 64, 8}), 1u);
    EXPECT_EQ(structures({"allgather", "ring", 37, 8}), 1u);
    EXPECT_EQ(structures({"bcast", "binomial", 64, 8}), 7u);  // the root, and 0 to 5 children
}

// Each doubling of ranks adds a round. At 2^20 ranks, a rank keeps less than 600 bytes.
TEST(LogGp, ARankTakesLittleMemory) {
    for (const auto& [collective, algorithm] :
         {std::pair{"barrier", "dissemination"}, {"allreduce", "recursive_doubling"}}) {
        const auto bytes_of = [&](Rank ranks) {
            const CollectiveSpec* const spec = algorithm::find_spec(collective);
            algorithm::GlobalArgs agreed;
            agreed.ranks = ranks;
            agreed.bytes = 8;
            LogGpMachine machine(plain);
            for (Rank r = 0; r < ranks; ++r)
                machine.add(*build_rank(*spec->find(algorithm),
                                        spec->problem(agreed, r, /*in_place=*/false)));
            return static_cast<double>(machine.rank_memory_bytes()) / ranks;
        };
        const double few = bytes_of(1 << 10);
        const double many = bytes_of(1 << 15);
        EXPECT_GT(few, 100) << collective;
        EXPECT_LT(many + (many - few), 600) << collective;
    }
}

TEST(LogGp, RefusesWhatDoesNotEnd) {
    const auto rank = [](Rank r, auto describe) {
        ScheduleBuilder builder(r, 2);
        describe(builder);
        Result<Schedule> sealed = builder.seal();
        EXPECT_TRUE(sealed.is_ok()) << last_detail();
        return std::move(*sealed);
    };
    const Region data{Buffer::send, 0, 8};
    const auto sends = [&](ScheduleBuilder& b) { b.send(data, 1); };
    const auto nothing = [](ScheduleBuilder&) {};
    EXPECT_TRUE(contains(refusal(std::vector{rank(0, sends), rank(1, nothing)}),
                         "rank 0 sends to rank 1, which receives nothing from it"));
    EXPECT_TRUE(contains(refusal(std::vector{rank(0, sends)}),
                         "rank 0 sends to rank 1, which has no schedule"));
    const auto receives = [&](ScheduleBuilder& b) { b.recv(data, 0); };
    EXPECT_TRUE(contains(refusal(std::vector{rank(0, nothing), rank(1, receives)}),
                         "deadlock: rank 1 waits for ever, with 1 operations left"));
    const auto both_wait = [&](Rank peer) {
        return [&, peer](ScheduleBuilder& b) { b.send(data, peer, {b.recv(data, peer)}); };
    };
    EXPECT_TRUE(contains(refusal(std::vector{rank(0, both_wait(1)), rank(1, both_wait(0))}),
                         "deadlock: rank 0 waits for ever, with 2 operations left"));
    const auto sends_twice = [&](ScheduleBuilder& b) {
        b.send(data, 1);
        b.send(data, 1);
    };
    EXPECT_TRUE(contains(refusal(std::vector{rank(0, sends_twice), rank(1, receives)}),
                         "rank 1 has no receive for a message from rank 0"));
}

TEST(LogGp, RefusesTimesThatOverflow) {
    LogGpParameters p = plain;
    p.latency_ps = std::int64_t{1} << 60;
    LogGpMachine machine(p);
    for (const Schedule& schedule : build({"allgather", "ring", 9, 8})) machine.add(schedule);
    EXPECT_FALSE(machine.run().is_ok());
    EXPECT_TRUE(contains(last_detail(), "the simulated time is above 50 days"));
}

}  // namespace weft::simulate::loggp_test
