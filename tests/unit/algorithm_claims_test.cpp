// Every algorithm's claims hold for the schedules that it builds.
#include "lab/measure.h"
#include "support/problems.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::algorithm_claims_test {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;

class Claims : public testing::TestWithParam<Subject> {
  protected:
    void SetUp() override {
        if (!is_its_turn(5)) GTEST_SKIP() << not_its_turn;
    }
    // If each block is sent once, to where it belongs: by the ranks that send the most.
    struct Own {
        std::int64_t messages_max = 0;
        std::int64_t bytes_max = 0;
    };
    static Own own(const Trial& problem) {
        Own most;
        const EveryRank all = every_rank(*GetParam().first, problem);
        for (const algorithm::Problem& of : all.problems()) {
            std::int64_t messages = 0;
            std::int64_t bytes = 0;
            auto send = [&](Rank to, Rank block) {
                if (to == of.rank || to == no_rank) return;
                ++messages;
                bytes += of.send.block(block).bytes;
            };
            const bool has_one = GetParam().first->send.others == algorithm::Blocks::one;
            if (of.neighbors) {
                const auto& to = of.neighbors->destinations;
                for (std::size_t i = 0; i < to.size(); ++i)
                    send(to[i], has_one ? 0 : static_cast<Rank>(i));
            } else {
                for (Rank i = 0; i < of.send.count; ++i) send(has_one ? of.root() : i, i);
            }
            most.messages_max = std::max(most.messages_max, messages);
            most.bytes_max = std::max(most.bytes_max, bytes);
        }
        return most;
    }

    // A node's messages to others, and those that it gets from them, follow one another.
    static void expect_one_message_in_a_step(std::span<const Schedule> schedules,
                                             const Topology& nodes) {
        Result<Timetable> times = timetable(schedules);
        ASSERT_TRUE(times.is_ok()) << last_detail();
        std::set<std::pair<Rank, std::int64_t>> sent, received;  // by node and round
        for (const auto& [ends, rounds] : times->messages) {
            const Rank from = nodes.node_of(ends.first);
            const Rank to = nodes.node_of(ends.second);
            if (from == to) continue;
            for (const std::int64_t round : rounds) {
                ASSERT_TRUE(sent.emplace(from, round).second) << "node " << from << ": " << round;
                ASSERT_TRUE(received.emplace(to, round).second) << "node " << to << ": " << round;
            }
        }
    }

    void hold(const Trial& problem) {
        SCOPED_TRACE(to_text(GetParam(), problem));
        const Algorithm& claimed = *GetParam().second;
        Result<std::vector<Schedule>> schedules = build_all(GetParam(), problem);
        ASSERT_TRUE(schedules.is_ok()) << last_detail();
        Result<Measures> measures = measure(*schedules, static_cast<int>(problem.tuning.ports));
        ASSERT_TRUE(measures.is_ok()) << last_detail();
        const Own sent = own(problem);
        if (claimed.rounds && claimed.rounds(problem) != algorithm::no_claim) {
            ASSERT_EQ(measures->rounds, claimed.rounds(problem));
        }
        ASSERT_EQ(measures->messages_max, claimed.sent_messages_max
                                              ? claimed.sent_messages_max(problem)
                                              : sent.messages_max);
        const std::int64_t bytes = claimed.claimed_bytes(problem);
        ASSERT_EQ(measures->sent_bytes_max, bytes != algorithm::no_claim ? bytes : sent.bytes_max);
        ASSERT_LE(measures->depth, measures->rounds);
        if (claimed.bytes_between_nodes && problem.topology) {
            ASSERT_EQ(bytes_between_nodes(*schedules, *problem.topology),
                      claimed.bytes_between_nodes(problem));
        }
        if (std::string(claimed.name) == "hierarchical") {
            ASSERT_NE(problem.topology, nullptr);
            expect_one_message_in_a_step(*schedules, *problem.topology);
        }
    }
};

TEST_P(Claims, HoldForTheBuiltSchedules) {
    Grid grid;
    for (Rank ranks = 1; ranks <= 33; ++ranks) grid.ranks.push_back(ranks);
    grid.bytes = {0, 8, 136};
    // Large ones may be passed on in pieces within nodes.
    if (GetParam().second->follows_topology) grid.bytes.push_back(1 << 20);
    if (!runs_all()) grid.all_roots_ranks = 5;
    grid.pipelines = {{128 * 1024, 8}, {16, 1}, {16, 2}, {100, 3}};
    for_each_problem(GetParam(), grid, [&](const Trial& problem) { hold(problem); });
}

TEST_P(Claims, HoldForLargeNumbersOfRanks) {
    Grid grid;
    grid.ranks = large_ranks(GetParam());
    grid.any_root = false;
    grid.bytes = {1000};
    grid.all_kinds = runs_all();
    for_each_problem(GetParam(), grid, [&](const Trial& problem) { hold(problem); });
}

INSTANTIATE_TEST_SUITE_P(All, Claims, testing::ValuesIn(everything()), subject_name);

TEST(Throttle, MakesEachSendOfATreeWaitForTheOneBefore) {
    int tried = 0;
    for (const Subject& subject : everything()) {
        if (subject.second->tunes != algorithm::Tunes::throttle) continue;
        ++tried;
        for (const bool throttle : {false, true}) {
            Trial trial;
            trial.ranks = 8;
            trial.bytes = 8;
            trial.tuning.throttle = throttle;
            const Result<std::vector<Schedule>> schedules = build_all(subject, trial);
            ASSERT_TRUE(schedules.is_ok()) << last_detail();
            const std::uint32_t waits = throttle ? 1 : 0;
            EXPECT_EQ(std::vector<std::uint32_t>({0, waits, waits}),
                      std::vector<std::uint32_t>((*schedules)[0].in_degree().begin(),
                                                 (*schedules)[0].in_degree().end()))
                << to_text(subject, trial);
        }
    }
    EXPECT_GE(tried, 3);
}

// As built, also where subtrees are cut short: they would be ready too early.
TEST(GatherOnATorus, HasOneMessageOnALinkInARound) {
    const CollectiveSpec& gather = algorithm::spec_of(Collective::gather);
    const Subject subject = {&gather, gather.find("torus")};
    std::vector<Sizes> all = {{3, 10}, {5, 9}, {10, 10}, {2, 3, 10}};
    for (Rank ranks = 2; ranks <= 33; ++ranks) {
        for (const Sizes& sizes : tori(ranks)) all.push_back(sizes);
    }
    for (const Sizes& sizes : all) {
        Trial trial;
        trial.place_on_torus(sizes);
        trial.ranks = trial.torus->ranks();
        trial.bytes = 8;
        for (trial.root = 0; trial.root < std::min<Rank>(trial.ranks, 10); ++trial.root) {
            const Result<std::vector<Schedule>> schedules = build_all(subject, trial);
            ASSERT_TRUE(schedules.is_ok()) << last_detail();
            Result<Timetable> times = timetable(*schedules);
            ASSERT_TRUE(times.is_ok()) << last_detail();
            std::vector<LinkLoads> loads(static_cast<std::size_t>(times->rounds),
                                         LinkLoads(*trial.torus));
            for (const auto& [ends, rounds] : times->messages) {
                for (const std::int64_t round : rounds)
                    loads[static_cast<std::size_t>(round)].add(ends.first, ends.second);
            }
            for (const LinkLoads& of_round : loads)
                ASSERT_EQ(of_round.most(), 1) << to_text(subject, trial);
        }
    }
}

TEST(Catalogue, EveryAlgorithmHasANameOfItsOwnAndASource) {
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        EXPECT_EQ(&algorithm::spec_of(spec.collective), &spec);
        EXPECT_EQ(algorithm::find_spec(spec.name), &spec);
        std::set<std::string> names;
        for (const Algorithm* known : spec.algorithms) {
            EXPECT_TRUE(names.insert(known->name).second) << known->name << " is there twice";
            EXPECT_NE(std::string(known->source), "");
            EXPECT_EQ(spec.find(known->name), known);
        }
        EXPECT_EQ(spec.find("none of them"), nullptr);
    }
    EXPECT_EQ(algorithm::find_spec("none of them"), nullptr);
}

}  // namespace weft::test::algorithm_claims_test
