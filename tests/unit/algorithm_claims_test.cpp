// Every algorithm's claims hold for the schedules that it builds.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "schedule/measure.h"

namespace weft {
namespace {

using algorithm::Entry;
using algorithm::Family;
using algorithm::Problem;
using algorithm::Tuning;

void check(const Family& family, const Entry& entry, const Problem& problem) {
    SCOPED_TRACE(
        std::string(family.name) + " " + entry.name + " p=" + std::to_string(problem.ranks) +
        " root=" + std::to_string(problem.root) + " bytes=" + std::to_string(problem.bytes) +
        " segment=" + std::to_string(problem.tuning.segment_bytes) +
        " window=" + std::to_string(problem.tuning.window) + (problem.in_place ? " in place" : ""));
    Result<std::vector<Schedule>> schedules = algorithm::build_all(entry, problem);
    ASSERT_TRUE(schedules.is_ok()) << last_detail();
    Result<Measures> measures = measure(*schedules);
    ASSERT_TRUE(measures.is_ok()) << last_detail();
    ASSERT_EQ(measures->rounds, entry.rounds(problem.size()));
    ASSERT_EQ(measures->sent_bytes_max, entry.sent_bytes_max(problem.size()));
    ASSERT_LE(measures->depth, measures->rounds);
}

class Claims : public testing::TestWithParam<std::pair<const Family*, const Entry*>> {};

TEST_P(Claims, HoldForTheBuiltSchedules) {
    constexpr Tuning tunings[] = {{128 * 1024, 8}, {16, 1}, {16, 2}, {100, 3}};
    const auto [family, entry] = GetParam();
    for (Rank ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33}) {
        for (Rank root = 0; root < (family->has_root ? ranks : 1); ++root) {
            for (std::int64_t bytes : {0, 8, 136, 1000}) {
                for (Tuning tuning : tunings) {
                    bool in_place = family->has_in_place && tuning.window == 1;
                    check(*family, *entry, {0, ranks, root, bytes, 8, in_place, tuning});
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

std::vector<std::pair<const Family*, const Entry*>> everything() {
    std::vector<std::pair<const Family*, const Entry*>> all;
    for (const Family& family : algorithm::catalogue()) {
        for (const Entry& entry : family.algorithms) all.emplace_back(&family, &entry);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, Claims, testing::ValuesIn(everything()), [](const auto& test) {
    return std::string(test.param.first->name) + "_" + test.param.second->name;
});

TEST(Catalogue, EveryAlgorithmHasANameOfItsOwnAndASource) {
    for (const Family& family : algorithm::catalogue()) {
        std::set<std::string> names;
        for (const Entry& entry : family.algorithms) {
            EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is there twice";
            EXPECT_NE(std::string(entry.source), "");
            EXPECT_EQ(family.find(entry.name), &entry);
        }
        EXPECT_EQ(family.find("none of them"), nullptr);
        EXPECT_EQ(algorithm::find_family(family.name), &family);
    }
    EXPECT_EQ(algorithm::find_family("none of them"), nullptr);
}

}  // namespace
}  // namespace weft
