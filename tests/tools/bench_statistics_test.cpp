// The order statistics of the bench.
#include "bench/print/conclusion.h"
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
    EXPECT_EQ(median_interval({1, 2, 3, 4, 5}).low, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(median_interval({1, 2, 3, 4, 5}).high, std::numeric_limits<double>::infinity());
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

TEST(ThreeSentences, SayForWhomHowMuchAndWhatNext) {
    const Gain here = {"within this machine", "thread", 4, 2, 6, 0};
    const Gain nodes = {"between nodes", "kernel", 91, 60, 6, 1};
    EXPECT_EQ(three_sentences({here, nodes}),
              "Programs that compute while collectives run gain time between nodes, but not within "
              "this machine.\n"
              "In the median of the rows, within this machine thread hides 4 % of the shorter one "
              "of computation and collective, and auto, the default, as much; between nodes kernel "
              "hides 91 % of the shorter one of computation and collective, and auto, the default, "
              "60 %.\n"
              "Next: run your program with WEFT_ENGINE=kernel, which does better than the default "
              "between nodes.");
}

TEST(ThreeSentences, DrawNoConclusionIfMostRowsAreDisturbed) {
    const Gain nodes = {"between nodes", "kernel", 91, 60, 2, 3};
    EXPECT_TRUE(three_sentences({nodes}).starts_with("No conclusion: 3 of 5 rows were disturbed."));
    EXPECT_EQ(three_sentences({}), "No conclusion: nothing was measured.");
}

}  // namespace weft::bench::bench_statistics_test
