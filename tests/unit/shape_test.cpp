// Rank arithmetic, exhaustively for small numbers of ranks.
#include "algorithm/hierarchy.h"
#include "shape/blocks.h"
#include "shape/butterfly.h"
#include "shape/neighborhood.h"
#include "shape/power.h"
#include "shape/ring.h"
#include "shape/topology.h"
#include "shape/tree.h"
#include "support/neighbors.h"
#include "support/test.h"

namespace weft::shape_test {

constexpr Rank ranks_max = 130;

TEST(Topology, NumbersNodesByTheirLowestRanks) {
    const std::vector<Rank> marks = {7, -2, 7, 0, -2, 7};
    const Topology nodes(marks);
    ASSERT_EQ(nodes.ranks(), 6);
    ASSERT_EQ(nodes.nodes(), 3);
    const std::vector<std::vector<Rank>> members = {{0, 2, 5}, {1, 4}, {3}};
    for (Rank node = 0; node < 3; ++node) {
        const std::span<const Rank> found = nodes.members(node);
        const std::vector<Rank>& expected = members[static_cast<std::size_t>(node)];
        EXPECT_EQ(std::vector<Rank>(found.begin(), found.end()), expected);
        EXPECT_EQ(nodes.size(node), static_cast<Rank>(expected.size()));
        Rank place = 0;
        for (const Rank rank : expected) {
            EXPECT_EQ(nodes.node_of(rank), node);
            EXPECT_EQ(nodes.place(rank), place++);
        }
    }
    EXPECT_EQ(nodes.size_max(), 3);
}

TEST(Topology, DividesNodesIntoNearlyEqualParts) {
    const std::vector<Rank> marks = {0, 1, 0, 0, 1, 0, 0};
    const std::vector<Rank> parts = {2, 1};
    const Topology divided = Topology(marks).divided(parts);
    ASSERT_EQ(divided.nodes(), 3);
    const std::vector<std::vector<Rank>> members = {{0, 2, 3}, {1, 4}, {5, 6}};
    for (Rank node = 0; node < 3; ++node) {
        const std::span<const Rank> found = divided.members(node);
        EXPECT_EQ(std::vector<Rank>(found.begin(), found.end()),
                  members[static_cast<std::size_t>(node)]);
    }
}

TEST(Topology, OfSomeRanksIsThatOfTheirNodes) {
    const std::vector<Rank> marks = {0, 1, 0, 1, 2};
    const std::vector<Rank> chosen = {4, 3, 1, 2};
    const Topology part = Topology(marks).part(chosen);
    ASSERT_EQ(part.ranks(), 4);
    ASSERT_EQ(part.nodes(), 3);
    EXPECT_EQ(part.node_of(0), 0);
    EXPECT_EQ(part.node_of(1), 1);
    EXPECT_EQ(part.node_of(2), 1);
    EXPECT_EQ(part.node_of(3), 2);
    EXPECT_EQ(Topology(std::vector<Rank>{}).nodes(), 0);
}

TEST(Topology, OfSomeRanksKnowsTheirCoresIfAllProcessesKnowThem) {
    const std::vector<Rank> marks = {0, 0, 1, 1, 2};
    const Topology all(marks, {0, 1, Topology::any_core, 1, Topology::unknown_core});
    const std::vector<Rank> known = {3, 2, 0};
    const Topology part = all.part(known);
    EXPECT_EQ(part.core_of(0), 1);
    EXPECT_EQ(part.core_of(1), Topology::any_core);
    EXPECT_EQ(part.core_of(2), 0);
    const std::vector<Rank> with_unknown = {0, 1, 4};
    EXPECT_EQ(all.part(with_unknown).core_of(0), Topology::any_core);
    const std::vector<Rank> parts = {2, 1, 1};
    EXPECT_EQ(all.divided(parts).core_of(1), 1);
}

TEST(Hierarchy, LeadersOfNodesThatShareCoresAreOnDifferentOnes) {
    using algorithm::Hierarchy;
    const std::vector<Rank> pairs = {0, 0, 1, 1, 2, 2, 3, 3};
    const auto leaders = [&](std::vector<Rank> cores, Rank root = 0) {
        return Hierarchy(Topology(pairs, std::move(cores)), root).leaders;
    };
    EXPECT_EQ(leaders({}), (std::vector<Rank>{0, 2, 4, 6}));
    EXPECT_EQ(leaders({0, 1, 0, 1, 0, 1, 0, 1}), (std::vector<Rank>{0, 3, 4, 7}));
    EXPECT_EQ(leaders({0, 1, 1, 0, 0, 1, 1, 0}), (std::vector<Rank>{0, 2, 4, 6}));
    EXPECT_EQ(leaders({0, 1, 2, 3, 4, 5, 6, 7}), (std::vector<Rank>{0, 2, 4, 6}));
    EXPECT_EQ(leaders({-1, -1, -1, -1, -1, -1, -1, -1}), (std::vector<Rank>{0, 2, 4, 6}));
    // The root leads its node, and the others know on which core.
    EXPECT_EQ(leaders({0, 1, 0, 1, 0, 1, 0, 1}, 6), (std::vector<Rank>{1, 2, 5, 6}));
}

TEST(Power, LogarithmsBracketTheNumber) {
    for (Rank n = 1; n < 5000; ++n) {
        int up = ceil_log2(n);
        int down = floor_log2(n);
        EXPECT_GE(1 << up, n);
        EXPECT_TRUE(up == 0 || (1 << (up - 1)) < n) << n;
        EXPECT_LE(1 << down, n);
        EXPECT_GT(1 << (down + 1), n);
        EXPECT_EQ(is_power_of_two(n), (n & (n - 1)) == 0);
    }
    EXPECT_EQ(ceil_log2(0x7fffffff), 31);
    EXPECT_EQ(floor_log2(0x7fffffff), 30);
}

TEST(Power, LogarithmsOfAnyRadix) {
    for (Rank radix = 2; radix <= 9; ++radix) {
        for (Rank n = 1; n < 3000; ++n) {
            const int up = ceil_log(radix, n);
            std::int64_t power = 1;
            for (int k = 0; k < up; ++k) power *= radix;
            EXPECT_GE(power, n);
            EXPECT_TRUE(up == 0 || power / radix < n);
            EXPECT_EQ(is_power_of(radix, n), power == n);
        }
        EXPECT_EQ(ceil_log(2, radix), ceil_log2(radix));
    }
    EXPECT_EQ(ceil_log(2, 0x7fffffff), 31);
    EXPECT_TRUE(is_power_of(65, 65 * 65));
}

TEST(Power, TurningADigitChangesNoOther) {
    auto digits = [](Rank rank, Rank radix) {
        std::vector<Rank> all;
        for (int i = 0; i < 4; ++i, rank /= radix) all.push_back(rank % radix);
        return all;
    };
    for (Rank radix = 2; radix <= 5; ++radix) {
        for (Rank rank = 0; rank < radix * radix * radix; ++rank) {
            Rank weight = 1;
            for (std::size_t j = 0; j < 3; ++j, weight *= radix) {
                for (Rank by = 0; by < radix; ++by) {
                    std::vector<Rank> turned = digits(rank, radix);
                    turned[j] = (turned[j] + by) % radix;
                    EXPECT_EQ(digits(turn_digit(rank, radix, weight, by), radix), turned);
                }
            }
        }
    }
}

TEST(Power, MultiplesBelowANumber) {
    for (Rank n = 1; n <= ranks_max; ++n) {
        for (Rank radix = 2; radix <= 5; ++radix) {
            std::int64_t all = 0;
            for (std::int64_t weight = 1; weight < n; weight *= radix) {
                std::int64_t below = 0;
                for (std::int64_t i = 1; i < radix; ++i) below += i * weight < n;
                EXPECT_EQ(multiples_below(n, weight, radix), below);
                all += below;
            }
            EXPECT_EQ(multiples_below(n, radix), all);
        }
    }
}

TEST(Power, NumbersWithABit) {
    for (int k = 0; k < 8; ++k) {
        Rank count = 0;
        for (Rank n = 0; n < 600; ++n) {
            EXPECT_EQ(count_with_bit(n, k), count);
            if (n >> k & 1) ++count;
        }
    }
}

TEST(Ring, AroundIsTheSumModuloRanks) {
    for (Rank p = 1; p <= 40; ++p) {
        for (Rank r = 0; r < p; ++r) {
            for (Rank d = -p; d <= p; ++d) EXPECT_EQ(around(r, d, p), (r + d + p) % p);
        }
    }
    EXPECT_EQ(around(0x7ffffffe, 0x7ffffffe, 0x7fffffff), 0x7ffffffd);
}

TEST(Ring, NeighboursFaceEachOther) {
    for (Rank p = 1; p <= ranks_max; ++p) {
        for (Rank r = 0; r < p; ++r) {
            EXPECT_EQ(ring_neighbours(ring_neighbours(r, p).to, p).from, r);
            for (int k = 0; k < ceil_log2(p); ++k) {
                Rank to = dissemination_peers(r, p, k).to;
                EXPECT_NE(to, r);
                EXPECT_EQ(dissemination_peers(to, p, k).from, r);
            }
        }
    }
}

TEST(Ring, DisseminationReachesEverybody) {
    for (Rank p = 1; p <= 70; ++p) {
        std::vector<std::set<Rank>> knows(static_cast<std::size_t>(p));
        for (Rank r = 0; r < p; ++r) knows[static_cast<std::size_t>(r)] = {r};
        for (int k = 0; k < ceil_log2(p); ++k) {
            auto before = knows;
            for (Rank r = 0; r < p; ++r) {
                const auto& news =
                    before[static_cast<std::size_t>(dissemination_peers(r, p, k).from)];
                knows[static_cast<std::size_t>(r)].insert(news.begin(), news.end());
            }
        }
        for (const auto& known : knows) EXPECT_EQ(known.size(), static_cast<std::size_t>(p));
    }
}

// When each rank has been told, if telling a child takes one unit and children are told in order.
int told_at(Tree (*tree_of)(Rank, Rank, Rank), Rank rank, Rank ranks, Rank root, int now,
            std::map<Rank, int>& told) {
    EXPECT_TRUE(told.emplace(rank, now).second) << "rank " << rank << " is told twice";
    int last = now;
    int at = now;
    for (Rank child : tree_of(rank, ranks, root).children) {
        EXPECT_EQ(tree_of(child, ranks, root).parent, rank);
        last = std::max(last, told_at(tree_of, child, ranks, root, ++at, told));
    }
    return last;
}

TEST(Tree, BinomialTellsEverybodyOnceInLogarithmicTime) {
    for (Rank p = 1; p <= ranks_max; ++p) {
        for (Rank root = 0; root < p; ++root) {
            std::map<Rank, int> told;
            EXPECT_FALSE(binomial_tree(root, p, root).parent);
            EXPECT_EQ(told_at(binomial_tree, root, p, root, 0, told), ceil_log2(p));
            EXPECT_EQ(told.size(), static_cast<std::size_t>(p));
        }
    }
}

TEST(Tree, BinomialHoldsForTheMostRanks) {
    EXPECT_EQ(binomial_tree(5, 0x7fffffff, 5).children.size(), 31u);
    EXPECT_EQ(binomial_tree(6, 0x7fffffff, 5).parent, 5);
    EXPECT_EQ(binomial_tree(4, 0x7fffffff, 5).parent, 2);
}

// LibNBC's figure 1.
TEST(Tree, DoublingSendsToTheNearestChildFirst) {
    const Tree one = doubling_tree(1, 7, 0);
    EXPECT_EQ(one.parent, 0);
    EXPECT_EQ(std::vector<Rank>(one.children.begin(), one.children.end()),
              (std::vector<Rank>{3, 5}));
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        for (const Rank root : {0, ranks / 2, ranks - 1}) {
            std::map<Rank, Rank> parents;
            for (Rank rank = 0; rank < ranks; ++rank) {
                const Tree tree = doubling_tree(rank, ranks, root);
                EXPECT_EQ(tree.parent.has_value(), rank != root);
                for (const Rank child : tree.children) {
                    EXPECT_TRUE(parents.emplace(child, rank).second);
                    EXPECT_EQ(doubling_tree(child, ranks, root).parent, rank);
                }
            }
            EXPECT_EQ(parents.size(), static_cast<std::size_t>(ranks - 1));
        }
    }
}

TEST(Pairing, EverybodyMeetsEverybodyOnce) {
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            std::set<Rank> met;
            for (Rank step = 0; step < pairing_steps(ranks); ++step) {
                const std::optional<Rank> partner = partner_in_step(rank, ranks, step);
                if (!partner) continue;
                EXPECT_NE(*partner, rank);
                EXPECT_TRUE(met.insert(*partner).second);
                EXPECT_EQ(partner_in_step(*partner, ranks, step), rank);
            }
            EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks - 1));
        }
    }
    EXPECT_EQ(pairing_steps(6), 5);
    EXPECT_EQ(pairing_steps(7), 7);
}

TEST(Tree, ChainVisitsEverybodyInOrder) {
    for (Rank p = 1; p <= ranks_max; ++p) {
        for (Rank root = 0; root < p; ++root) {
            std::map<Rank, int> told;
            EXPECT_FALSE(chain_tree(root, p, root).parent);
            told_at(chain_tree, root, p, root, 0, told);
            ASSERT_EQ(told.size(), static_cast<std::size_t>(p));
            for (Rank r = 0; r < p; ++r) EXPECT_EQ(told[around(root, r, p)], r);
        }
    }
}

TEST(Blocks, CoverAllElementsInOrderAndNearlyEqually) {
    for (std::int64_t n = 0; n < 100; ++n) {
        for (Rank p = 1; p < 40; ++p) {
            std::int64_t next = 0;
            for (Rank i = 0; i < p; ++i) {
                Block block = block_of(n, p, i);
                EXPECT_EQ(block.first, next);
                EXPECT_GE(block.count, n / p);
                EXPECT_LE(block.count, (n + p - 1) / p);
                next += block.count;
            }
            EXPECT_EQ(next, n);
        }
    }
}

TEST(Fold, StandingRanksAreNumberedInRankOrder) {
    for (Rank p = 1; p <= ranks_max; ++p) {
        Fold fold(p);
        EXPECT_TRUE(is_power_of_two(fold.standing));
        EXPECT_EQ(fold.standing + fold.extra, p);
        Rank next = 0;
        for (Rank r = 0; r < p; ++r) {
            if (fold.is_paired(r)) {
                EXPECT_LT(fold.partner(r), p);
                EXPECT_NE(fold.number_of(r).has_value(),
                          fold.number_of(fold.partner(r)).has_value());
            }
            if (!fold.number_of(r)) continue;
            EXPECT_EQ(*fold.number_of(r), next);
            EXPECT_EQ(fold.rank_of(next), r);
            ++next;
        }
        EXPECT_EQ(next, fold.standing);
    }
}

// What gathering along a tree relies on, for every tree of this form.
void expect_consecutive_subtrees(Tree (*tree_of)(Rank rank, Rank ranks, Rank root)) {
    for (Rank p = 1; p <= 70; ++p) {
        for (Rank root : {0, p / 2, p - 1}) {
            for (Rank r = 0; r < p; ++r) {
                const Tree tree = tree_of(r, p, root);
                EXPECT_EQ(tree.distance, (r - root + p) % p);
                EXPECT_EQ(tree.parent.has_value(), r != root);
                Rank end = tree.distance + tree.subtree;
                for (Rank child : tree.children) {  // the farthest first
                    const Tree below = tree_of(child, p, root);
                    EXPECT_EQ(*below.parent, r);
                    EXPECT_EQ(below.distance + below.subtree, end);
                    end = below.distance;
                }
                EXPECT_EQ(end, tree.distance + 1) << "p=" << p << " rank " << r;
            }
            EXPECT_EQ(tree_of(root, p, root).subtree, p);
        }
    }
}

TEST(Tree, SubtreesAreConsecutiveFromTheRootOn) {
    expect_consecutive_subtrees(binomial_tree);
    expect_consecutive_subtrees(binary_tree);
    expect_consecutive_subtrees(chain_tree);
    expect_consecutive_subtrees(
        [](Rank r, Rank p, Rank root) { return knomial_tree(r, p, root, 3); });
    expect_consecutive_subtrees(
        [](Rank r, Rank p, Rank root) { return knomial_tree(r, p, root, 4); });
    expect_consecutive_subtrees(
        [](Rank r, Rank p, Rank root) { return knomial_tree(r, p, root, 65); });
}

TEST(Tree, AKnomialTreeIsAsDeepAsANumberHasDigits) {
    for (Rank radix = 2; radix <= 6; ++radix) {
        for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
            Rank largest = 0;
            for (Rank rank = 0; rank < ranks; ++rank) {
                int depth = 0;
                Rank at = rank;
                while (const std::optional<Rank> up = knomial_tree(at, ranks, 0, radix).parent) {
                    at = *up;
                    ++depth;
                }
                EXPECT_EQ(at, 0);
                EXPECT_LE(depth, ceil_log(radix, ranks));
                if (depth == 1)
                    largest = std::max(largest, knomial_tree(rank, ranks, 0, radix).subtree);
            }
            EXPECT_EQ(knomial_subtree_max(ranks, radix), largest);
        }
    }
    EXPECT_EQ(knomial_tree(5, 0x7fffffff, 5, 65).children.size(), 5 * 64u + 1u);
}

TEST(Tree, ABinaryTreeHasTwoChildrenOfEqualSize) {
    for (Rank p = 1; p <= ranks_max; ++p) {
        for (Rank r = 0; r < p; ++r) {
            const Tree tree = binary_tree(r, p, 0);
            EXPECT_LE(tree.children.size(), 2u);
            if (tree.children.size() < 2) continue;
            const Rank far = binary_tree(tree.children.begin()[0], p, 0).subtree;
            const Rank near = binary_tree(tree.children.begin()[1], p, 0).subtree;
            EXPECT_TRUE(near == far || near == far + 1) << near << " and " << far;
        }
    }
}

TEST(Neighborhood, OfAGridIsBesideEachPlace) {
    for (const char* kind : {"ring", "grid"}) {
        for (int ranks = 1; ranks <= ranks_max; ++ranks) {
            const test::Neighbors expected = test::neighbors(kind, ranks);
            const std::vector<Neighborhood> all = expected.for_library();
            for (Rank r = 0; r < ranks; ++r) {
                const auto i = static_cast<std::size_t>(r);
                EXPECT_EQ(all[i].sources, expected.sources[i]) << kind << " " << ranks;
                EXPECT_EQ(all[i].destinations, expected.sources[i]);
            }
        }
    }
}

// Each block of a source becomes one block of a neighbor, in the order in which lanes carry them.
TEST(Neighborhood, EveryBlockHasOneOrigin) {
    for (const char* kind : test::neighbor_kinds) {
        for (int ranks = 1; ranks <= 9; ++ranks) {
            const test::Neighbors expected = test::neighbors(kind, ranks);
            const std::vector<Neighborhood> all = expected.for_library();
            for (Rank r = 0; r < ranks; ++r) {
                const Neighborhood& own = all[static_cast<std::size_t>(r)];
                std::map<Rank, std::size_t> last;
                for (std::size_t i = 0; i < own.sources.size(); ++i) {
                    const std::size_t block = own.received(i);
                    const Rank source = own.sources[block];
                    if (source == no_rank) continue;
                    const std::size_t sent =
                        own.origin(block, r, all[static_cast<std::size_t>(source)]);
                    EXPECT_EQ(sent, static_cast<std::size_t>(
                                        expected.origin(r, static_cast<int>(block))));
                    const auto [before, is_first] = last.try_emplace(source, sent);
                    EXPECT_TRUE(is_first || before->second < sent) << kind << " " << ranks;
                    before->second = sent;
                }
            }
        }
    }
}

}  // namespace weft::shape_test
