// Every algorithm's claims hold for the schedules that it builds.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lab/measure.h"
#include "support/problems.h"

namespace weft::test {
namespace {

using algorithm::Algorithm;
using algorithm::Family;

class Claims : public testing::TestWithParam<Subject> {
  protected:
    // By the rank that contributes the most to others.
    static std::int64_t own_bytes_max(const Trial& problem) {
        std::int64_t most = 0;
        const EveryRank all = every_rank(*GetParam().first, problem);
        for (const algorithm::Problem& of : all.problems()) {
            std::int64_t bytes = 0;
            for (Rank i = 0; i < of.send.count; ++i) {
                const Rank to = of.send.count == 1 ? of.root() : i;
                if (to != of.rank) bytes += of.send.block(i).bytes;
            }
            most = std::max(most, bytes);
        }
        return most;
    }

    void hold(const Trial& problem) {
        SCOPED_TRACE(to_text(GetParam(), problem));
        const Algorithm& claimed = *GetParam().second;
        Result<std::vector<Schedule>> schedules = build_all(GetParam(), problem);
        ASSERT_TRUE(schedules.is_ok()) << last_detail();
        Result<Measures> measures = measure(*schedules, static_cast<int>(problem.tuning.ports));
        ASSERT_TRUE(measures.is_ok()) << last_detail();
        ASSERT_EQ(measures->rounds, claimed.rounds(problem));
        ASSERT_EQ(measures->messages_max, claimed.sent_messages_max(problem));
        ASSERT_EQ(measures->sent_bytes_max, claimed.sent_bytes_max ? claimed.sent_bytes_max(problem)
                                                                   : own_bytes_max(problem));
        ASSERT_LE(measures->depth, measures->rounds);
    }
};

TEST_P(Claims, HoldForTheBuiltSchedules) {
    Grid grid;
    for (Rank ranks = 1; ranks <= 33; ++ranks) grid.ranks.push_back(ranks);
    grid.bytes = {0, 8, 136};
    grid.pipelines = {{128 * 1024, 8}, {16, 1}, {16, 2}, {100, 3}};
    for_each_problem(GetParam(), grid, [&](const Trial& problem) { hold(problem); });
}

TEST_P(Claims, HoldForLargeNumbersOfRanks) {
    Grid grid;
    grid.ranks = {64, 100, 128, 257};
    grid.any_root = false;
    grid.bytes = {1000};
    for_each_problem(GetParam(), grid, [&](const Trial& problem) { hold(problem); });
}

INSTANTIATE_TEST_SUITE_P(All, Claims, testing::ValuesIn(everything()), subject_name);

TEST(Catalogue, EveryAlgorithmHasANameOfItsOwnAndASource) {
    for (const Family& family : algorithm::catalogue()) {
        EXPECT_EQ(&algorithm::family_of(family.collective), &family);
        EXPECT_EQ(algorithm::find_family(family.name), &family);
        std::set<std::string> names;
        for (const Algorithm* known : family.algorithms) {
            EXPECT_TRUE(names.insert(known->name).second) << known->name << " is there twice";
            EXPECT_NE(std::string(known->source), "");
            EXPECT_EQ(family.find(known->name), known);
        }
        EXPECT_EQ(family.find("none of them"), nullptr);
    }
    EXPECT_EQ(algorithm::find_family("none of them"), nullptr);
}

}  // namespace
}  // namespace weft::test
