// Butterflies and Bine trees, exhaustively for small numbers of ranks.
#include "shape/bine.h"

#include "shape/power.h"
#include "shape/tree.h"
#include "support/test.h"

namespace weft::bine_test {

constexpr Rank ranks_max = 130;
constexpr Rank largest_power = 1 << 30;

TEST(Negabinary, DigitsStandForPowersOfMinusTwo) {
    for (Rank ranks = 1; ranks <= 1024; ranks *= 2) {
        std::set<Rank> all;
        for (Rank n = 0; n < ranks; ++n) {
            const Rank digits = negabinary(n, ranks);
            EXPECT_TRUE(all.insert(digits).second);
            std::int64_t sum = 0;
            std::int64_t power = 1;
            for (Rank rest = digits; rest > 0; rest /= 2, power *= -2) sum += rest % 2 * power;
            EXPECT_EQ((sum - n) % ranks, 0) << n << " of " << ranks;
            EXPECT_EQ(from_negabinary(digits, ranks), n);
        }
        EXPECT_EQ(*all.rbegin(), ranks - 1);
    }
}

struct Named {
    const char* name;
    Butterfly butterfly;
};

class Butterflies : public testing::TestWithParam<Named> {};
INSTANTIATE_TEST_SUITE_P(Known, Butterflies,
                         testing::Values(Named{"Hypercube", hypercube},
                                         Named{"BineDoubling", bine_doubling},
                                         Named{"BineHalving", bine_halving}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Butterflies, PartnersMeetOnDifferentSides) {
    const Butterfly& butterfly = GetParam().butterfly;
    for (Rank ranks = 1; ranks <= 1024; ranks *= 2) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            const Rank sides = butterfly.sides(rank, ranks);
            EXPECT_TRUE(0 <= sides && sides < ranks);
            for (int step = 0; step < floor_log2(ranks); ++step) {
                const Rank partner = butterfly.partner(rank, ranks, step);
                ASSERT_TRUE(0 <= partner && partner < ranks);
                EXPECT_EQ(butterfly.partner(partner, ranks, step), rank);
                const Rank differing = sides ^ butterfly.sides(partner, ranks);
                EXPECT_EQ(differing >> step & 1, 1);
                if (!butterfly.has_halves) continue;
                EXPECT_EQ(differing & ((Rank{1} << step) - 1), 0)
                    << rank << " and " << partner << " of " << ranks << " in step " << step;
            }
        }
        EXPECT_EQ(butterfly.sides(0, ranks), 0) << "rank 0 keeps the lower halves";
    }
}

TEST_P(Butterflies, EveryRankHearsFromEveryOtherOnce) {
    const Butterfly& butterfly = GetParam().butterfly;
    const auto side = [&](Rank rank, Rank ranks, int step) {
        return butterfly.sides(rank, ranks) >> step & 1;
    };
    for (Rank ranks = 1; ranks <= 256; ranks *= 2) {
        std::vector<std::set<Rank>> heard;
        for (Rank rank = 0; rank < ranks; ++rank) heard.push_back({rank});
        for (int step = 0; step < floor_log2(ranks); ++step) {
            const std::vector<std::set<Rank>> before = heard;
            for (Rank rank = 0; rank < ranks; ++rank) {
                const auto partner = static_cast<std::size_t>(butterfly.partner(rank, ranks, step));
                std::set<Rank>& own = heard[static_cast<std::size_t>(rank)];
                for (const Rank known : own) {
                    if (!butterfly.has_order) break;
                    EXPECT_EQ(side(known, ranks, step), side(rank, ranks, step));
                }
                for (const Rank news : before[partner]) EXPECT_TRUE(own.insert(news).second);
            }
        }
        for (const std::set<Rank>& all : heard)
            EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks));
    }
}

TEST_P(Butterflies, HoldForTheMostRanks) {
    const Butterfly& butterfly = GetParam().butterfly;
    for (const Rank rank : {0, 1, largest_power / 3, largest_power - 2, largest_power - 1}) {
        const Rank sides = butterfly.sides(rank, largest_power);
        for (int step = 0; step < 30; ++step) {
            const Rank partner = butterfly.partner(rank, largest_power, step);
            EXPECT_EQ(butterfly.partner(partner, largest_power, step), rank);
            const Rank differing = sides ^ butterfly.sides(partner, largest_power);
            EXPECT_EQ(differing >> step & 1, 1);
        }
    }
}

// How far apart two ranks are around a ring of all.
Rank apart(Rank one, Rank other, Rank ranks) {
    const Rank ahead = std::abs(one - other);
    return std::min(ahead, ranks - ahead);
}

TEST(BineButterfly, PartnersAreTwoThirdsOfAHypercubesApart) {
    const std::vector<Rank> distances = {1, 1, 3, 5, 11, 21, 43, 85, 171};
    constexpr Rank ranks = 1024;
    for (Rank rank = 0; rank < ranks; ++rank) {
        for (std::size_t step = 0; step < distances.size(); ++step) {
            const Rank partner = bine_doubling.partner(rank, ranks, static_cast<int>(step));
            EXPECT_EQ(apart(rank, partner, ranks), distances[step]);
            EXPECT_LE(3 * distances[step], (Rank{2} << step) + 1);
        }
    }
}

// From the root down, in units of the time that a message takes: when the last rank has the data.
int told_at(Rank rank, Rank ranks, Rank root, int now, std::set<Rank>& told) {
    EXPECT_TRUE(told.insert(rank).second) << "rank " << rank << " is told twice";
    int last = now;
    for (const Rank child : bine_tree(rank, ranks, root).children) {
        EXPECT_EQ(bine_tree(child, ranks, root).parent, rank);
        last = std::max(last, told_at(child, ranks, root, ++now, told));
    }
    return last;
}

TEST(BineTree, TellsEverybodyOnceInLogarithmicTime) {
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        for (Rank root = 0; root < ranks; ++root) {
            std::set<Rank> told;
            EXPECT_FALSE(bine_tree(root, ranks, root).parent);
            EXPECT_EQ(told_at(root, ranks, root, 0, told), ceil_log2(ranks));
            EXPECT_EQ(told.size(), static_cast<std::size_t>(ranks));
            for (Rank rank = 0; rank < ranks; ++rank) {
                EXPECT_LE(bine_tree(rank, ranks, root).children.size(),
                          static_cast<std::size_t>(floor_log2(ranks)));
            }
        }
    }
}

TEST(BineTree, OfEightRanks) {
    const std::map<Rank, std::vector<Rank>> expected = {
        {0, {3, 7, 1}}, {3, {4, 2}}, {4, {5}}, {7, {6}}, {1, {}}, {2, {}}, {5, {}}, {6, {}}};
    for (const auto& [rank, children] : expected) {
        EXPECT_EQ(bine_tree(rank, 8, 0).children, children) << rank;
        std::vector<Rank> moved;
        for (const Rank child : children) moved.push_back((child + 5) % 8);
        EXPECT_EQ(bine_tree((rank + 5) % 8, 8, 5).children, moved) << rank;
    }
}

std::set<Rank> subtree(Rank top, Rank ranks, Rank root) {
    std::set<Rank> all = {top};
    for (const Rank child : bine_tree(top, ranks, root).children)
        all.merge(subtree(child, ranks, root));
    return all;
}

// Around the ring of all ranks.
TEST(BineTree, SubtreesAreConsecutive) {
    for (Rank ranks = 1; ranks <= 70; ++ranks) {
        for (const Rank root : {0, ranks / 2, ranks - 1}) {
            for (Rank top = 0; top < ranks; ++top) {
                const std::set<Rank> all = subtree(top, ranks, root);
                const auto is_last = [&](Rank rank) { return !all.contains((rank + 1) % ranks); };
                EXPECT_LE(std::ranges::count_if(all, is_last), 1) << top << " of " << ranks;
            }
        }
    }
}

TEST(BineTree, HoldsForTheMostRanks) {
    constexpr Rank most = 0x7fffffff;
    EXPECT_EQ(bine_tree(5, most, 5).children.size(), 30u);
    for (const Rank rank : {0, 4, 6, most / 3, most - 1}) {
        const Tree tree = bine_tree(rank, most, 5);
        ASSERT_TRUE(tree.parent);
        const std::vector<Rank> siblings = bine_tree(*tree.parent, most, 5).children;
        EXPECT_NE(std::ranges::find(siblings, rank), siblings.end());
    }
}

}  // namespace weft::bine_test
