// What ranks of a circulant graph receive and send, for all small numbers of ranks and some large
// ones.
#include "shape/circulant.h"

#include "shape/power.h"
#include "shape/ring.h"
#include "support/test.h"

namespace weft::circulant_test {

constexpr Rank ranks_max = 1100;

TEST(Circulant, SkipsAreHalvesRoundedUp) {
    for (Rank ranks = 1; ranks <= 5000; ++ranks) {
        const std::vector<Rank> skips = circulant_skips(ranks);
        ASSERT_EQ(skips.size(), static_cast<std::size_t>(ceil_log2(ranks)) + 1);
        EXPECT_EQ(skips.front(), 1);
        EXPECT_EQ(skips.back(), ranks);
        for (std::size_t k = 0; k + 1 < skips.size(); ++k)
            EXPECT_EQ(skips[k], (skips[k + 1] + 1) / 2);
    }
    EXPECT_EQ(circulant_skips(0x7fffffff).size(), 32u);
}

// The four conditions of a correct broadcast, for one rank, given what it and its neighbours do.
void expect_correct(Rank distance, const std::vector<Rank>& skips, const CirculantBlocks& own,
                    const auto& blocks_of) {
    const Rank ranks = skips.back();
    const int q = static_cast<int>(skips.size()) - 1;
    ASSERT_EQ(own.send.size(), static_cast<std::size_t>(q));
    for (std::size_t k = 0; k < own.send.size(); ++k) {
        // What it sends, the receiver expects.
        const Rank to = around(distance, skips[k], ranks);
        if (to != 0) {
            ASSERT_EQ(own.send[k], blocks_of(to).recv[k]) << "to " << to;
        }
        if (distance == 0) {
            ASSERT_EQ(own.send[k], static_cast<int>(k));
            continue;
        }
        // What it expects, the sender sends.
        const Rank from = around(distance, -skips[k], ranks);
        ASSERT_EQ(own.recv[k], blocks_of(from).send[k]) << "from " << from;
        // What it sends it has received, in this phase or the last.
        if (to == 0 || own.send[k] == own.first - q) continue;
        const auto before = own.recv.begin() + static_cast<std::ptrdiff_t>(k);
        ASSERT_NE(std::find(own.recv.begin(), before, own.send[k]), before) << "round " << k;
    }
    if (distance == 0) {
        ASSERT_TRUE(own.recv.empty());
        return;
    }
    // In a phase it receives every block once.
    std::set<int> expected = {own.first};
    for (int block = -q; block < 0; ++block) {
        if (block != own.first - q) expected.insert(block);
    }
    ASSERT_EQ(own.recv.size(), static_cast<std::size_t>(q));
    ASSERT_EQ(std::set<int>(own.recv.begin(), own.recv.end()), expected);
}

TEST(Circulant, EveryRankReceivesEveryBlockOnceAndSendsWhatItHas) {
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        const std::vector<Rank> skips = circulant_skips(ranks);
        std::vector<CirculantBlocks> all;
        for (Rank distance = 0; distance < ranks; ++distance)
            all.push_back(circulant_blocks(distance, ranks));
        auto blocks_of = [&](Rank distance) -> const CirculantBlocks& {
            return all[static_cast<std::size_t>(distance)];
        };
        for (Rank distance = 0; distance < ranks; ++distance) {
            expect_correct(distance, skips, blocks_of(distance), blocks_of);
            ASSERT_FALSE(HasFatalFailure()) << "rank " << distance << " of " << ranks;
        }
    }
}

TEST(Circulant, OneRankOfAMillionIsComputedAlone) {
    constexpr Rank million = 1 << 20;
    for (const Rank ranks : {million - 1, million, million + 1, 3 * million + 5, 0x7fffffff}) {
        const std::vector<Rank> skips = circulant_skips(ranks);
        for (Rank i = 0; i < 100; ++i) {
            for (const Rank distance : {i, ranks - 1 - i, ranks / 100 * i + i, ranks / 2 - i}) {
                expect_correct(distance, skips, circulant_blocks(distance, ranks),
                               [&](Rank other) { return circulant_blocks(other, ranks); });
                ASSERT_FALSE(HasFatalFailure()) << "rank " << distance << " of " << ranks;
            }
        }
    }
}

}  // namespace weft::circulant_test
