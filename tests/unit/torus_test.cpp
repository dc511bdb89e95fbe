// Paths and messages on tori, exhaustively for small ones.
#include "shape/torus.h"

#include "shape/power.h"
#include "support/test.h"
#include "support/tori.h"

namespace weft::test::torus_test {

// The most messages on a link in a step of the binomial gather, if the i-th rank in `order` sends
// to a later one.
Rank congestion(const Torus& torus, const std::vector<Rank>& order) {
    Rank most = 0;
    for (Rank step = 1; step < torus.ranks(); step *= 2) {
        LinkLoads loads(torus);
        for (Rank at = torus.ranks() - 1 - step; at >= 0; at -= 2 * step)
            loads.add(order[static_cast<std::size_t>(at)],
                      order[static_cast<std::size_t>(at + step)]);
        most = std::max(most, loads.most());
    }
    return most;
}

std::vector<Rank> row_major(const Torus& torus) {
    std::vector<Rank> order(static_cast<std::size_t>(torus.ranks()));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

Rank links(const Torus& torus, Rank from, Rank to) {
    Rank passed = 0;
    torus.for_each_link(from, to, [&](Rank, std::size_t) { ++passed; });
    return passed;
}

template <class Body>
void for_each_plane(Body body) {
    for (Rank rows = 2; rows <= 16; ++rows) {
        for (Rank columns = 2; columns <= 16; ++columns) {
            SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns));
            body(Torus({rows, columns}), rows, columns);
        }
    }
}

template <class Body>
void for_each_torus(Rank ranks_max, Body body) {
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        for (const Sizes& sizes : tori(ranks)) {
            SCOPED_TRACE(to_text(sizes));
            body(Torus(sizes));
        }
    }
}

TEST(Torus, AMessageTakesTheLastDimensionFirst) {
    const Torus torus({3, 4});
    std::vector<std::pair<Rank, std::size_t>> passed;
    torus.for_each_link(10, 5, [&](Rank rank, std::size_t d) { passed.emplace_back(rank, d); });
    const std::vector<std::pair<Rank, std::size_t>> expected = {
        {10, 1}, {11, 1}, {8, 1}, {9, 0}, {1, 0}};
    EXPECT_EQ(passed, expected);
    EXPECT_EQ(links(torus, 7, 7), 0);
    LinkLoads loads(torus);
    loads.add(10, 5);
    loads.add(8, 9);
    EXPECT_EQ(loads.of(8, 1), 2);
    EXPECT_EQ(loads.of(8, 0), 0);
    EXPECT_EQ(loads.of(1, 0), 1);
    EXPECT_EQ(loads.most(), 2);
}

TEST(Torus, EachPlaceOfThePathIsOneLinkBehindTheOneBefore) {
    for_each_torus(64, [](const Torus& torus) {
        const std::vector<Rank> path = torus.path();
        EXPECT_EQ(std::set<Rank>(path.begin(), path.end()).size(), path.size());
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
            EXPECT_EQ(links(torus, path[i], path[i + 1]), 1) << i;
        EXPECT_EQ(torus.path_closes(), links(torus, path.back(), path.front()) <= 1);
    });
}

TEST(Torus, RowYOfAPlaneStartsAtColumnMinusY) {
    for_each_plane([](const Torus& torus, Rank rows, Rank columns) {
        for (Rank y = 0; y < rows; ++y)
            EXPECT_EQ(torus.on_path(y * columns), y * columns + (y * columns - y) % columns);
        EXPECT_EQ(torus.path_closes(), rows % columns == 0);
    });
    EXPECT_TRUE(Torus({1, 5}).path_closes());
    EXPECT_TRUE(Torus({5, 1}).path_closes());
    for (const Sizes& s : {Sizes{4, 2, 8}, Sizes{3, 3, 3}, Sizes{4, 2, 3}, Sizes{3, 2, 3}}) {
        EXPECT_EQ(Torus(s).path_closes(), s[0] % s[1] == 0 && s[0] * s[1] % s[2] == 0)
            << to_text(s);
    }
}

// The ranks are as far from each other as before, in every dimension.
TEST(Torus, MovingItKeepsLoads) {
    for (const Sizes& sizes : {Sizes{3, 4}, Sizes{5, 2}, Sizes{2, 3, 4}}) {
        const Torus torus(sizes);
        for (Rank to = 0; to < torus.ranks(); ++to) {
            EXPECT_EQ(torus.moved(5, 5, to), to);
            std::set<Rank> all;
            for (Rank rank = 0; rank < torus.ranks(); ++rank) {
                const Rank moved = torus.moved(rank, 5, to);
                all.insert(moved);
                EXPECT_EQ(torus.moved(moved, to, 5), rank);
                EXPECT_EQ(links(torus, moved, to), links(torus, rank, 5));
                EXPECT_EQ(links(torus, to, moved), links(torus, 5, rank));
            }
            EXPECT_EQ(std::ssize(all), torus.ranks());
        }
    }
}

// Rows of 9 need 5 of them to have two messages on a link, rows of 10 need 3.
TEST(Torus, AGatherAlongThePathOfAPlaneIsFreeButForRowsOf9Or10) {
    for_each_plane([](const Torus& torus, Rank rows, Rank columns) {
        const bool is_free = (columns != 9 || rows < 5) && (columns != 10 || rows < 3);
        EXPECT_EQ(congestion(torus, torus.path()), is_free ? 1 : 2);
        EXPECT_EQ(torus.gathers_along_path(), is_free);
    });
}

TEST(Torus, AGatherAlongRowsFromLeftToRightIsNotFreeInMoreOfThem) {
    for_each_plane([](const Torus& torus, Rank rows, Rank columns) {
        const bool is_free =
            (columns != 11) &&
            (rows < 3 || (columns != 5 && columns != 9 && columns != 10 && columns != 13));
        EXPECT_EQ(congestion(torus, row_major(torus)), is_free ? 1 : 2);
    });
}

TEST(Torus, AGatherAlongThePathOfASmallCubeIsFree) {
    for (Rank z = 2; z <= 7; ++z) {
        for (Rank y = 2; y <= 7; ++y) {
            for (Rank x = 2; x <= 7; ++x) EXPECT_TRUE(Torus({z, y, x}).gathers_along_path());
        }
    }
}

// Each place sends to its parent in one step, after its children; of each step no link has two
// messages.
void expect_free_gather(const Torus& torus, Rank root) {
    const std::vector<Rank> order = torus.gather_order(root);
    ASSERT_EQ(order.front(), root);
    EXPECT_EQ(std::set<Rank>(order.begin(), order.end()).size(), order.size());
    // By place: when it sends. Children are numbered by their distance, of which each takes one
    // step.
    std::vector<Rank> sends(order.size());
    std::vector<LinkLoads> loads;
    for (Rank place = torus.ranks(); place-- > 0;) {
        const Tree tree = torus.gather_tree(place);
        Rank end = place + tree.subtree;
        Rank step = 0;
        for (const Rank child : tree.children) {
            const Tree below = torus.gather_tree(child);
            EXPECT_EQ(below.parent, place);
            EXPECT_EQ(child + below.subtree, end) << "subtrees are consecutive";
            end = child;
        }
        EXPECT_EQ(end, place + 1);
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
            step = std::max(step, sends[static_cast<std::size_t>(*child)]);
            while (std::ssize(loads) <= step) loads.emplace_back(torus);
            loads[static_cast<std::size_t>(step++)].add(order[static_cast<std::size_t>(*child)],
                                                        order[static_cast<std::size_t>(place)]);
        }
        sends[static_cast<std::size_t>(place)] = step;
    }
    for (const LinkLoads& of_step : loads) EXPECT_LE(of_step.most(), 1);
    Rank steps = ceil_log2(torus.ranks());
    if (!torus.gathers_along_path()) {
        steps = 0;
        for (const Rank size : torus.sizes()) steps += ceil_log2(size);
    }
    EXPECT_EQ(std::ssize(loads), steps);
}

TEST(Torus, NoStepOfAGatherHasTwoMessagesOnALink) {
    for_each_torus(40, [](const Torus& torus) {
        for (Rank root = 0; root < torus.ranks(); ++root) expect_free_gather(torus, root);
    });
    for_each_plane([](const Torus& torus, Rank, Rank) {
        expect_free_gather(torus, 0);
        expect_free_gather(torus, torus.ranks() / 2);
    });
    for (const Sizes& sizes : {Sizes{3, 5, 9}, Sizes{1, 9, 10}, Sizes{4, 10, 10}, Sizes{2, 3, 10}})
        expect_free_gather(Torus(sizes), 7);
}

}  // namespace weft::test::torus_test
