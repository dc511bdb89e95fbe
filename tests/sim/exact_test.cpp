// The LogGP machine against the plain evaluation of the same graph, operation by operation and
// resource by resource.
#include "sim/exact.h"

#include "algorithm/catalogue.h"
#include "base/random.h"
#include "lab/every_rank.h"
#include "schedule/builder.h"
#include "sim/loggp.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::simulate::exact_test {

using model::exact_times;
using model::ExactTimes;
using test::contains;

// In ns, as published; a fast network whose numbers have no common factor; an interface slower than
// the CPU; a CPU that takes no time.
constexpr LogGpParameters parameters[] = {
    {2'500'000, 1'500'000, 1'000'000, 6'000, 0, 0, 0, 1 << 30},
    {1'400'123, 200'017, 600'011, 181, 7, 31, 13, 700},
    {5'000'000, 1'000'000, 7'000'000, 2'000, 100, 500, 300, 100},
    {1'000'000, 0, 1, 1'000, 0, 0, 0, 1 << 30},
};

using Use = std::tuple<int, std::int64_t, std::int64_t>;  // resource, begin, end

std::vector<std::vector<Use>> uses_of(const std::vector<BusySpan>& spans, std::size_t ranks) {
    std::vector<std::vector<Use>> uses(ranks);
    for (const BusySpan& span : spans)
        uses[span.rank].emplace_back(static_cast<int>(span.unit), span.begin_ps, span.end_ps);
    for (std::vector<Use>& of_rank : uses) std::ranges::sort(of_rank);
    return uses;
}

std::vector<std::vector<Use>> uses_of(const ExactTimes& times) {
    std::vector<std::vector<Use>> uses;
    for (const std::vector<ExactTimes::Use>& from : times.uses) {
        std::vector<Use>& of_rank = uses.emplace_back();
        for (const ExactTimes::Use& use : from)
            of_rank.emplace_back(static_cast<int>(use.resource), use.begin_ps, use.end_ps);
        std::ranges::sort(of_rank);
    }
    return uses;
}

void expect_equal(std::span<const Schedule> schedules, const LogGpParameters& p) {
    Result<ExactTimes> expected = exact_times(schedules, p);
    ASSERT_TRUE(expected.is_ok()) << last_detail();
    LogGpMachine machine(p);
    for (const Schedule& schedule : schedules) machine.add(schedule);
    std::vector<BusySpan> spans;
    Result<LogGpOutcome> outcome = machine.run(&spans);
    ASSERT_TRUE(outcome.is_ok()) << last_detail();
    ASSERT_EQ(outcome->events, expected->events);
    ASSERT_EQ(outcome->end_ps, expected->end_ps);
    ASSERT_EQ(outcome->cpu_ps, expected->cpu_ps);
    ASSERT_EQ(uses_of(spans, schedules.size()), uses_of(*expected));
}

// Operations wait for any before them, in an order of all ranks' operations, so that they end.
std::vector<Schedule> random_schedules(Prng& random, Rank ranks) {
    std::vector<ScheduleBuilder> builders;
    std::vector<std::vector<OpId>> ops(static_cast<std::size_t>(ranks));
    for (Rank r = 0; r < ranks; ++r) builders.emplace_back(r, ranks);
    const std::uint64_t links = random.below(4);  // at most so many predecessors
    const auto below = [&](Rank bound) {
        return static_cast<Rank>(random.below(static_cast<std::uint64_t>(bound)));
    };
    const auto add = [&](Rank rank, const Op& op) {
        std::vector<OpId>& earlier = ops[static_cast<std::size_t>(rank)];
        std::vector<OpId> after;
        for (std::uint64_t i = random.below(links + 1); i > 0 && !earlier.empty(); --i) {
            const std::size_t back = random.below(std::min<std::size_t>(earlier.size(), 8)) + 1;
            after.push_back(earlier[earlier.size() - back]);
        }
        std::ranges::sort(after);
        after.erase(std::ranges::unique(after).begin(), after.end());
        earlier.push_back(builders[static_cast<std::size_t>(rank)].add(op, after));
    };
    const std::int64_t sizes[] = {0, 1, 2, 99, 100, 101, 700, 701, 5000};
    for (std::uint64_t left = random.below(30) + 10 * static_cast<std::uint64_t>(ranks); left > 0;
         --left) {
        const Rank rank = below(ranks);
        Op op;
        op.bytes = random.one_in(2) ? sizes[random.below(std::size(sizes))]
                                    : static_cast<std::int64_t>(random.below(2000));
        const std::uint64_t kind = random.below(8);
        if (kind < 5) {
            const Rank peer = (rank + 1 + below(ranks - 1)) % ranks;
            op.kind = OpKind::send;
            op.peer = peer;
            add(rank, op);
            op.kind = OpKind::recv;
            op.peer = rank;
            add(peer, op);
            continue;
        }
        op.kind = kind == 5 ? OpKind::join : kind == 6 ? OpKind::copy : OpKind::reduce;
        if (op.kind == OpKind::join) op.bytes = 0;
        add(rank, op);
    }
    std::vector<Schedule> schedules;
    for (ScheduleBuilder& builder : builders) {
        Result<Schedule> schedule = builder.seal();
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

TEST(Exact, RandomSchedules) {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        Prng random(seed);
        const auto ranks = static_cast<Rank>(2 + random.below(15));
        const std::vector<Schedule> schedules = random_schedules(random, ranks);
        for (const LogGpParameters& p : parameters) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", o " + std::to_string(p.overhead_ps));
            ASSERT_NO_FATAL_FAILURE(expect_equal(schedules, p));
        }
    }
}

std::vector<Schedule> schedules_of(const algorithm::CollectiveSpec& spec,
                                   const algorithm::Algorithm& algorithm, Rank ranks,
                                   std::int64_t bytes) {
    algorithm::GlobalArgs agreed;
    agreed.collective = spec.collective;
    agreed.ranks = ranks;
    agreed.bytes = bytes;
    agreed.tuning.segment_bytes = 256;
    std::vector<Schedule> schedules;
    const auto add = [&](const algorithm::Problem& problem) {
        Result<Schedule> schedule = build_rank(algorithm, problem);
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        schedules.push_back(std::move(*schedule));
    };
    if (spec.sizes == algorithm::Sizes::uniform) {
        for (Rank r = 0; r < ranks; ++r) add(spec.problem(agreed, r, /*in_place=*/false));
        return schedules;
    }
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    for (Rank r = 0; spec.sizes == algorithm::Sizes::known_to_all && r < ranks; ++r) {
        sizes.push_back(bytes);
        offsets.push_back(r * bytes);
    }
    agreed.sizes = sizes;
    if (!spec.agrees_on_sizes()) agreed.bytes = -1;
    const EveryRank every_rank(spec, agreed, /*in_place=*/false, offsets,
                               [=](Rank, Rank, std::size_t) { return bytes; });
    for (const algorithm::Problem& problem : every_rank.problems()) add(problem);
    return schedules;
}

TEST(Exact, TheCatalogue) {
    int algorithms = 0;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        if (spec.is_among_neighbors()) continue;
        for (const algorithm::Algorithm* const algorithm : spec.algorithms) {
            for (const Rank ranks : {2, 5, 8, 16}) {
                algorithm::GlobalArgs agreed;
                agreed.ranks = ranks;
                if (!algorithm->unmet_need(agreed).empty()) continue;
                algorithms += ranks == 8 ? 1 : 0;
                for (const std::int64_t bytes : {1, 1000}) {
                    const std::vector<Schedule> schedules =
                        schedules_of(spec, *algorithm, ranks, bytes);
                    for (const LogGpParameters& p : parameters) {
                        SCOPED_TRACE(std::string(spec.name) + " " + algorithm->name + ", " +
                                     std::to_string(ranks) + " ranks, " + std::to_string(bytes) +
                                     " bytes, o " + std::to_string(p.overhead_ps));
                        ASSERT_NO_FATAL_FAILURE(expect_equal(schedules, p));
                    }
                }
            }
        }
    }
    EXPECT_GT(algorithms, 60);
}

// Against times by hand: a send of 3 bytes, which the receiver adds to what it has, and an empty
// answer.
TEST(Exact, OfEveryOperation) {
    const LogGpParameters p{100, 10, 30, 5, 1, 7, 0, 1 << 30};
    ScheduleBuilder a(0, 2);
    a.send(a.scratch(3), 1);
    a.recv(a.scratch(0), 1);
    ScheduleBuilder b(1, 2);
    const Region data = b.scratch(3);
    const OpId sum = b.reduce(data, b.scratch(3), {b.recv(data, 0)});
    b.send(b.scratch(0), 0, {sum});
    const Schedule schedules[] = {*a.seal(), *b.seal()};
    Result<ExactTimes> times = exact_times(schedules, p);
    ASSERT_TRUE(times.is_ok()) << last_detail();
    const auto pairs = [&](std::size_t rank) {
        std::vector<std::pair<std::int64_t, std::int64_t>> all;
        for (const ExactTimes::OperationTimes& operation : times->operations[rank])
            all.emplace_back(operation.start_ps, operation.end_ps);
        return all;
    };
    using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
    // CPU 10 + 2, way 100 + 2 * 5, CPU 12, three bytes combined in 21, CPU 10, way 100, CPU 10.
    EXPECT_EQ(pairs(0), (Pairs{{0, 12}, {0, 275}}));
    EXPECT_EQ(pairs(1), (Pairs{{0, 134}, {134, 155}, {155, 165}}));
    EXPECT_EQ(uses_of(*times)[0],
              (std::vector<Use>{{0, 0, 12}, {0, 265, 275}, {1, 12, 52}, {2, 265, 295}}));
    EXPECT_EQ(times->cpu_ps, (std::vector<std::int64_t>{22, 43}));
    EXPECT_EQ(times->events, 7u);
}

TEST(Exact, RefusesWhatNeverEnds) {
    ScheduleBuilder a(0, 2);
    a.send(a.scratch(1), 1, {a.recv(a.scratch(1), 1)});
    ScheduleBuilder b(1, 2);
    b.send(b.scratch(1), 0, {b.recv(b.scratch(1), 0)});
    const Schedule both[] = {*a.seal(), *b.seal()};
    EXPECT_FALSE(exact_times(both, {}).is_ok());
    EXPECT_TRUE(contains(last_detail(), "rank 0 waits for ever")) << last_detail();
    ScheduleBuilder c(0, 2);
    c.send(c.scratch(1), 1);
    const Schedule unmatched[] = {*c.seal(), *ScheduleBuilder(1, 2).seal()};
    EXPECT_FALSE(exact_times(unmatched, {}).is_ok());
    EXPECT_TRUE(contains(last_detail(), "rank 0 sends 1 messages to rank 1, which receives 0"))
        << last_detail();
}

}  // namespace weft::simulate::exact_test
