// The order statistics of the bench.
#include "bench/dropin/where.h"
#include "bench/overlap/advice.h"
#include "bench/overlap/disturbed.h"
#include "bench/statistics.h"
#include "bench/tune/contest.h"
#include "support/test.h"

namespace weft::bench::bench_statistics_test {

TEST(Statistics, MedianIsTheMiddleOfAnyOrder) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
    EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
    EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
    EXPECT_EQ(quantile({0, 10}, 0.25), 2.5);
}

TEST(Statistics, TheLowerBoundOfTheMedianIsAnOrderStatistic) {
    // By the sign test, from tables of the binomial distribution.
    const std::map<int, int> orders = {{5, 1},   {7, 1},   {8, 2},   {20, 6},
                                       {30, 11}, {50, 19}, {100, 42}};
    for (const auto& [size, order] : orders) {
        std::vector<double> samples;
        for (int i = size; i > 0; --i) samples.push_back(i);
        EXPECT_EQ(median_lower_bound(samples), order) << "of " << size;
    }
}

TEST(Statistics, TheIntervalOfTheMedianHasOrderStatisticsAsEnds) {
    const std::map<int, int> orders = {{6, 1},   {9, 2},   {10, 2},  {20, 6},
                                       {30, 10}, {50, 18}, {100, 40}};
    for (const auto& [size, order] : orders) {
        std::vector<double> samples;
        for (int i = size; i > 0; --i) samples.push_back(i);
        EXPECT_EQ(median_interval(samples).low, order) << "of " << size;
        EXPECT_EQ(median_interval(samples).high, size + 1 - order) << "of " << size;
    }
}

TEST(Statistics, AFewSamplesBoundNothing) {
    EXPECT_EQ(median_lower_bound({}), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(median_lower_bound({1, 2, 3, 4}), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(median_interval({1, 2, 3, 4, 5}).low, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(median_interval({1, 2, 3, 4, 5}).high, std::numeric_limits<double>::infinity());
}

TEST(Disturbed, IsAnOverlapThatCannotBe) {
    EXPECT_TRUE(is_disturbed(657, 1000, false));
    EXPECT_TRUE(is_disturbed(-230, 1000, false));
    for (const double percent : {-100.4, -3.0, 0.0, 99.0, 100.4}) {
        EXPECT_FALSE(is_disturbed(percent, 1000, false)) << percent;
    }
    EXPECT_FALSE(is_disturbed(-230, 1000, true)) << "a spinning thread takes what it gets";
    EXPECT_TRUE(is_disturbed(657, 1000, true));
    EXPECT_FALSE(is_disturbed(657, 2, false)) << "too short to be told from noise";
    EXPECT_TRUE(is_impossible(326)) << "whatever is shown";
    EXPECT_FALSE(is_impossible(100.4));
}

TEST(Disturbed, IsMeasuredAgainButNotForEver) {
    struct Row {
        bool disturbed;
        bool is_disturbed() const { return disturbed; }
    };
    for (const int disturbed : {0, 1, 2, 3, 10}) {
        int runs = 0;
        const auto rows = undisturbed([&] {
            return std::vector<Row>{{false}, {runs++ < disturbed}};
        });
        EXPECT_EQ(runs, std::min(disturbed + 1, attempts_max));
        EXPECT_EQ(rows[1].disturbed, disturbed >= attempts_max);
    }
}

TEST(Summary, ConcludesFromWhatWasMeasured) {
    const JudgedRow good{{{"thread", 80}, {"kernel", 60}}, false};
    const JudgedRow bad{{{"thread", 326}, {"kernel", 90}}, true};
    EXPECT_EQ(advice(std::vector{good}, true), "thread hides 80 % in the median of the rows.");
    EXPECT_EQ(advice(std::vector{good, bad}, true),
              "thread hides 80 % in the median of the rows that were not disturbed.");
    EXPECT_EQ(advice(std::vector{good, bad, bad}, true),
              "none, because 2 of 3 rows were disturbed.");
    EXPECT_EQ(advice(std::vector{bad}, true), "none, because 1 of 1 rows were disturbed.");
    const JudgedRow with_auto{{{"thread", 80}, {"auto", 78}}, false};
    EXPECT_EQ(advice(std::vector{with_auto}, false),
              "thread hides 80 % in the median of the rows; auto, the default, does as well.");
    const JudgedRow with_slow_auto{{{"thread", 80}, {"auto", 20}}, false};
    EXPECT_EQ(advice(std::vector{with_slow_auto}, false),
              "thread hides 80 % in the median of the rows; auto, the default, hides 20 %.");
    const JudgedRow nothing{{{"auto", 3}, {"thread", 4}}, false};
    EXPECT_TRUE(advice(std::vector{nothing}, true).starts_with("little or nothing can be gained"));
}

TEST(Summary, HasOneThresholdOfQuiet) {
    EXPECT_TRUE(quietness(5.4).starts_with("The machine was quiet: other programs took 5 %"));
    for (const double lost : {5.6, 10.0, 13.0})
        EXPECT_TRUE(quietness(lost).starts_with("The machine was not quiet: ")) << lost;
}

// The interval of 10 samples' median goes from the 2nd to the 9th of them.
std::vector<double> between(double low, double high) {
    std::vector<double> us(10, (low + high) / 2);
    us[0] = us[1] = low;
    us[8] = us[9] = high;
    return us;
}

TEST(Contest, EndsWhenTheFastestHaveNarrowIntervals) {
    std::vector<Contender> all = {{0, between(98, 102)}, {1, between(99, 103)}};
    EXPECT_FALSE(narrow_down(all));
    all[1].us = between(90, 112);
    EXPECT_TRUE(narrow_down(all)) << "the second is not narrow";
    EXPECT_TRUE(all[0].is_in && all[1].is_in);
    all[1].us = {99, 99, 99};
    EXPECT_TRUE(narrow_down(all)) << "so few say nothing";
}

TEST(Contest, LeavesOutWhatIsSurelySlower) {
    std::vector<Contender> all = {{0, between(98, 102)}, {1, between(103, 200)}};
    EXPECT_FALSE(narrow_down(all)) << "the second, which is not narrow, is out";
    EXPECT_TRUE(all[0].is_in);
    EXPECT_FALSE(all[1].is_in);
    all[1].us = between(1, 1);
    narrow_down(all);
    EXPECT_FALSE(all[1].is_in) << "for ever";
}

TEST(Where, NamesTheSizesOfEachCollective) {
    EXPECT_EQ(where({}), "none");
    const Finding no = {"gather", "8", false};
    EXPECT_EQ(where(std::vector{no}), "none");
    const std::vector<Finding> places = {
        {"barrier", "", true},    {"bcast", "8", true},     {"bcast", "1K", true},
        {"reduce", "8", false},   {"reduce", "1K", true},   {"reduce", "64K", true},
        {"gather", "8", true},    {"gather", "1K", true},   {"gather", "64K", false},
        {"scatter", "8", true},   {"scatter", "1K", false}, {"scatter", "64K", true},
        {"alltoall", "8", false}, {"alltoall", "1K", true}, {"alltoall", "64K", true},
        {"alltoall", "1M", false}};
    EXPECT_EQ(where(places),
              "barrier, bcast, reduce from 1K, gather up to 1K, scatter 8, scatter 64K, alltoall "
              "1K to 64K");
}

}  // namespace weft::bench::bench_statistics_test
