// Where progress threads go: WEFT_PROGRESS_CPUS, and which cores are spare.
#include "process/join/progress_cores.h"

#include "base/cores.h"
#include "process/join/progress_places.h"
#include "support/test.h"

namespace weft::progress_cores_test {

using Kind = ProgressCores::Kind;
using Cores = std::vector<int>;

// Numbers that no machine here has: they have no hyperthreads.
constexpr int base = 900'000;

RankCard card_of(const char* machine, Cores computes, ProgressCores progress = {}) {
    RankCard card;
    card.machine = machine;
    for (int& core : computes) core += base;
    for (int& core : progress.cores) core += base;
    card.cores = computes;
    card.progress = progress;
    return card;
}

TEST(Cores, AreListsOfNumbersAndRanges) {
    EXPECT_EQ(parse_cores("7"), (Cores{7}));
    EXPECT_EQ(parse_cores("8-10,0,9"), (Cores{0, 8, 9, 10}));
    EXPECT_EQ(cores_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(cores_text({}), "");
    for (const char* wrong :
         {"", ",", "1,", "1-", "-1", "3-2", "a", "1 2", "1-2-3", "99999999999", "0-2000000"}) {
        EXPECT_EQ(parse_cores(wrong), std::nullopt) << wrong;
    }
}

TEST(Cores, OfAThreadCanBeChanged) {
    const Cores mine = own_cores();
    ASSERT_FALSE(mine.empty());
    ASSERT_TRUE(bind_to({mine.back()}));
    EXPECT_EQ(own_cores(), (Cores{mine.back()}));
    for (const int core : mine) EXPECT_TRUE(std::ranges::count(reachable_cores(), core)) << core;
    EXPECT_EQ(own_cores(), (Cores{mine.back()})) << "reachable_cores() has changed it";
    EXPECT_TRUE(bind_to(mine));
    for (const int wrong : {base, -1, 2'000'000'000}) EXPECT_FALSE(bind_to({wrong})) << wrong;
    EXPECT_TRUE(std::ranges::count(siblings_of(mine[0]), mine[0]));
    EXPECT_EQ(siblings_of(base), (Cores{base})) << "nothing is known about it";
}

TEST(Cores, AreEnoughIfEveryoneCanHaveSomeAlone) {
    EXPECT_TRUE(are_enough({}, 2));
    EXPECT_FALSE(are_enough({{}}, 1));
    EXPECT_TRUE(are_enough({{0}, {1}}, 1));
    EXPECT_FALSE(are_enough({{0}, {1}}, 2));
    EXPECT_TRUE(are_enough({{0, 1, 2, 3}, {0, 1, 2, 3}}, 2));
    EXPECT_FALSE(are_enough({{0, 1, 2}, {0, 1, 2}}, 2));
    // Many cores elsewhere do not help those who may not use them.
    EXPECT_FALSE(are_enough({{0, 1}, {0, 1}, {2, 3, 4, 5, 6, 7}}, 2));
    EXPECT_FALSE(are_enough({{0}, {0}, {1, 2}}, 1));
    // The first must leave 0 to the second, and the third 2 to the fourth.
    EXPECT_TRUE(are_enough({{0, 1}, {0}, {1, 2, 3}, {2}}, 1));
    EXPECT_TRUE(are_enough({{0, 1, 2, 3}, {0, 1}}, 2));
    // The owner of a core that it would give up has no other.
    EXPECT_FALSE(are_enough({{0, 1}, {1}, {0}}, 1));
}

TEST(ProgressThreads, RunOnTheCoresThatAreNamed) {
    const std::vector<RankCard> cards = {card_of("m", {0}, {Kind::these, {2}}), card_of("m", {1})};
    const std::vector<ProgressPlace> places = progress_places(cards, 0);
    EXPECT_EQ(places[0].cores, (Cores{base + 2}));
    EXPECT_TRUE(places[0].is_set_aside());
    EXPECT_EQ(places[1].cores, Cores{});
    EXPECT_FALSE(places[1].is_set_aside());
    EXPECT_EQ(why_not_set_aside(cards, 0, places), "");
}

TEST(ProgressThreads, ShareNamedCoresOnWhichRanksCompute) {
    const std::vector<RankCard> cards = {
        card_of("m", {0}), card_of("m", {1}, {Kind::these, {1, 2}}),
        card_of("m", {0, 1}, {Kind::these, {0}}), card_of("other", {2})};
    const std::vector<ProgressPlace> places = progress_places(cards, 0);
    EXPECT_EQ(places[1].cores, (Cores{base + 1, base + 2})) << "the thread still goes there";
    EXPECT_EQ(places[1].shared, (Cores{base + 1}));
    EXPECT_EQ(places[2].shared, (Cores{base}));
    for (const ProgressPlace& place : places) EXPECT_FALSE(place.is_set_aside());
    EXPECT_EQ(
        why_not_set_aside(cards, 0, places),
        "WEFT_PROGRESS_CPUS=900001-900002 of rank 1: its progress thread shares cores 900001 "
        "with ranks that may compute there, or on their hyperthreads; expected cores on which "
        "no rank computes");
    EXPECT_EQ(why_not_set_aside(cards, 3, progress_places(cards, 3)), "") << "another machine";
}

TEST(ProgressThreads, RunOnCoresOfTheirMachineOnWhichNoRankComputes) {
    const ProgressCores spare = {Kind::spare, {0, 1, 2, 3}};
    const std::vector<RankCard> cards = {card_of("m", {0}, spare), card_of("m", {2}, spare),
                                         card_of("other", {0, 1, 2, 3}, spare)};
    const std::vector<ProgressPlace> places = progress_places(cards, 0);
    EXPECT_EQ(places[0].cores, (Cores{base + 1, base + 3}));
    EXPECT_EQ(places[1].cores, (Cores{base + 1, base + 3}));
    EXPECT_EQ(why_not_set_aside(cards, 0, places), "");
    const std::vector<ProgressPlace> of_other = progress_places(cards, 2);
    EXPECT_EQ(of_other[2].cores, Cores{});
    EXPECT_TRUE(
        why_not_set_aside(cards, 2, of_other).starts_with("WEFT_PROGRESS_CPUS=spare: none"));
}

// Cores 2n and 2n+1 are hyperthreads of one.
Cores pairs(int core) { return {core & ~1, core | 1}; }

TEST(ProgressThreads, StayOffTheHyperthreadsOfRanks) {
    const ProgressCores spare = {Kind::spare, {0, 1, 2, 3, 4, 5}};
    const std::vector<RankCard> cards = {card_of("m", {0}, spare), card_of("m", {3}, spare),
                                         card_of("m", {0}, {Kind::these, {1, 5}}),
                                         card_of("m", {0}, {Kind::these, {5}})};
    const std::vector<ProgressPlace> places = progress_places(cards, 0, pairs);
    EXPECT_EQ(places[0].cores, (Cores{base + 4, base + 5}));
    EXPECT_EQ(places[1].cores, (Cores{base + 4, base + 5}));
    EXPECT_EQ(places[2].shared, (Cores{base + 1}));
    EXPECT_FALSE(places[2].is_set_aside());
    EXPECT_TRUE(places[3].is_set_aside());
}

TEST(ProgressThreads, HaveCoresOfTheirOwnIfThereAreEnough) {
    const auto own = [](std::vector<Cores> wishes) {
        std::vector<RankCard> cards;
        for (const Cores& cores : wishes) cards.push_back(card_of("m", {0}, {Kind::these, cores}));
        std::vector<bool> owns;
        for (const ProgressPlace& place : progress_places(cards, 0))
            owns.push_back(place.has_own_core);
        return owns;
    };
    EXPECT_EQ(own({{1}, {2}}), (std::vector{true, true}));
    EXPECT_EQ(own({{1}, {1}}), (std::vector{false, false}));
    EXPECT_EQ(own({{1, 2}, {1, 2}}), (std::vector{true, true}));
    EXPECT_EQ(own({{1, 2}, {1, 2}, {1, 2}, {3}}), (std::vector{false, false, false, true}));
    EXPECT_EQ(own({{0}}), (std::vector{false})) << "a rank computes there";
}

TEST(ProgressThreads, HaveNoSpareCoresWhereARanksCoresAreUnknown) {
    const ProgressCores spare = {Kind::spare, {0, 1}};
    const std::vector<RankCard> cards = {card_of("m", {0}, spare), card_of("m", {}),
                                         card_of("m", {0}, {Kind::these, {1}})};
    const std::vector<ProgressPlace> places = progress_places(cards, 0);
    EXPECT_EQ(places[0].cores, Cores{});
    EXPECT_EQ(places[2].shared, (Cores{base + 1}));
}

class Wished : public testing::Test {
  protected:
    void SetUp() override { unsetenv("WEFT_PROGRESS_CPUS"); }
    void TearDown() override { unsetenv("WEFT_PROGRESS_CPUS"); }
};

TEST_F(Wished, NothingLeavesThreadsWhereTheirRankIs) {
    EXPECT_EQ(ProgressCores::from_environment()->kind, Kind::anywhere);
    setenv("WEFT_PROGRESS_CPUS", "", 1);
    EXPECT_EQ(ProgressCores::from_environment()->kind, Kind::anywhere);
}

TEST_F(Wished, SpareMeansWhateverCanBeReached) {
    setenv("WEFT_PROGRESS_CPUS", "spare", 1);
    auto wish = ProgressCores::from_environment();
    EXPECT_EQ(wish->kind, Kind::spare);
    EXPECT_EQ(wish->cores, reachable_cores());
}

TEST_F(Wished, CoresAreNamed) {
    const int core = own_cores().back();
    setenv("WEFT_PROGRESS_CPUS", std::to_string(core).c_str(), 1);
    auto wish = ProgressCores::from_environment();
    EXPECT_EQ(wish->kind, Kind::these);
    EXPECT_EQ(wish->cores, (Cores{core}));
}

TEST_F(Wished, OthersAreRefused) {
    setenv("WEFT_PROGRESS_CPUS", "spar", 1);
    EXPECT_EQ(ProgressCores::from_environment().status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_PROGRESS_CPUS = 'spar'; expected cores, such as 7 or 0,8-11, or spare");
    setenv("WEFT_PROGRESS_CPUS", "900000", 1);
    EXPECT_EQ(ProgressCores::from_environment().status().code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(std::string(last_detail()),
              "WEFT_PROGRESS_CPUS = '900000'; this process cannot use core 900000, only " +
                  cores_text(reachable_cores()));
}

}  // namespace weft::progress_cores_test
