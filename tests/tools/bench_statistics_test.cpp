// The order statistics of the bench.
#include <gtest/gtest.h>

#include "bench/statistics.h"

namespace weft::bench {
namespace {

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

}  // namespace
}  // namespace weft::bench
