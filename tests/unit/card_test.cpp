// What ranks must agree on when they join, and what is said when they do not.
#include "process/join/card.h"

#include "process/join/transports.h"
#include "support/test.h"

namespace weft::card_test {

RankCard card_of(const char* version, const char* bcast) {
    RankCard card;
    card.version = version;
    card.settings = {{"WEFT_TRANSPORT", ""}, {"WEFT_ALGORITHM", bcast}};
    return card;
}

TEST(Card, TravelsAsText) {
    RankCard card = card_of("1.2", "chain:segment=64K");
    card.shm = "where it is";
    card.ucx = "and over UCX";
    card.node = "this,one";
    card.cores = {0, 3};
    card.progress = {ProgressCores::Kind::spare, {0, 1, 3}};
    card.dedicated = {16, 1};
    card.engine = EngineKind::kernel_own;
    RankCard read = RankCard::parse(card.text());
    EXPECT_EQ(read.version, card.version);
    EXPECT_EQ(read.shm, card.shm);
    EXPECT_EQ(read.ucx, card.ucx);
    EXPECT_EQ(read.node, card.node);
    EXPECT_EQ(read.cores, card.cores);
    EXPECT_EQ(read.progress.kind, card.progress.kind);
    EXPECT_EQ(read.progress.cores, card.progress.cores);
    EXPECT_EQ(read.dedicated.streams_left, 16u);
    EXPECT_EQ(read.dedicated.is_wanted, 1u);
    EXPECT_EQ(read.engine, card.engine);
    EXPECT_EQ(read.settings, card.settings);
}

TEST(Card, TellsWhoSharesANode) {
    std::vector<RankCard> cards(4);
    cards[0].node = cards[2].node = "a";
    cards[1].node = "b";
    cards[3].node = "";
    EXPECT_EQ(nodes_of(cards), (std::vector<Rank>{0, 1, 0, 2}));
}

// Emulated nodes of a machine share its cores.
TEST(Card, TellsWhoStaysOnACore) {
    std::vector<RankCard> cards(6);
    for (RankCard& card : cards) card.machine = "m";
    cards[0].cores = cards[3].cores = {5};
    cards[1].cores = {4};
    cards[2].cores = {4, 5};
    cards[4].cores = {5};
    cards[4].machine = "n";
    EXPECT_EQ(cores_of(cards),
              (std::vector<Rank>{0, 1, Topology::any_core, 0, 2, Topology::any_core}));
}

TEST(Card, AnEngineIsAgreedOnIfAllHaveIt) {
    std::vector<RankCard> cards(3);
    for (RankCard& card : cards) card.engine = EngineKind::kernel;
    EXPECT_EQ(agreed_engine(cards), EngineKind::kernel);
    for (RankCard& odd : cards) {
        odd.engine = EngineKind::thread;
        EXPECT_EQ(agreed_engine(cards), std::nullopt);
        odd.engine = EngineKind::kernel;
    }
}

#if WEFT_HAS_TCP
TEST(Card, TellsWhetherARankHasSeveralInterfaces) {
    std::vector<RankCard> cards(3);
    EXPECT_FALSE(has_several_interfaces(cards)) << "nobody has tcp";
    cards[0].tcp = cards[1].tcp = "weft-tcp-1/10.0.0.1:4000";
    EXPECT_FALSE(has_several_interfaces(cards));
    cards[2].tcp = "weft-tcp-1/10.0.0.3:4000,[fd00::3]:4001";
    EXPECT_TRUE(has_several_interfaces(cards));
}
#endif

#if WEFT_HAS_UCX
TEST(Card, HasAnyBytesAsAddressesOfUcx) {
    ucx::Card card{.version = "1.13",
                   .has_fabric = true,
                   .has_memory = false,
                   .processes = "a-boot:[4]",
                   .process = 4711,
                   .node = "a-boot:[5]",
                   .addresses = {"", "of another link"},
                   .addresses_here = {"", "of another link here"}};
    for (int byte = 0; byte < 256; ++byte) {
        card.addresses[0] += static_cast<char>(byte);
        card.addresses_here[0] += static_cast<char>(255 - byte);
    }
    const std::optional<ucx::Card> read = ucx::Card::parse(card.text());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->version, card.version);
    EXPECT_EQ(read->has_fabric, card.has_fabric);
    EXPECT_EQ(read->has_memory, card.has_memory);
    EXPECT_EQ(read->processes, card.processes);
    EXPECT_EQ(read->process, card.process);
    EXPECT_EQ(read->node, card.node);
    EXPECT_EQ(read->addresses, card.addresses);
    EXPECT_EQ(read->addresses_here, card.addresses_here);
    EXPECT_TRUE(ucx::Card::parse("weft-ucx-4/1.13/0/1/b/1/n/12,34/"));
    EXPECT_TRUE(ucx::Card::parse("weft-ucx-4/1.13/0/1/b/1/n/12,34/56,78"));
    for (const char* wrong :
         {"", "weft-ucx-4", "weft-ucx-4/1.13/0/1/b/1/n//", "weft-ucx-4/1.13/0/1/b/1/n/0g/",
          "weft-ucx-4/1.13/0/1/b/1/n/123/", "weft-ucx-4/1.13/0/1/b/one/n/12/",
          "weft-ucx-4/1.13/0/1/b/-1/n/12/", "weft-ucx-4/1.13/0/1/b//n/12/",
          "weft-ucx-4/1.13/0/1/b/1/n/12", "weft-ucx-4/1.13/0/1/b/1/n/12/34,56",
          "weft-ucx-4/1.13/0/1/b/1/n/12/3", "weft-ucx-3/1.13/0/1/b/1/n/12",
          "weft-ucx-4/1.13/0/1/b/1/n/12,/", "12"})
        EXPECT_FALSE(ucx::Card::parse(wrong)) << wrong;
}
#endif

// Each rank says the same, and nobody waits for the rank that cannot join.
TEST(Card, ARankThatCannotJoinIsRefusedByAll) {
    RankCard bad = card_of("1.2", "chain");
    bad.refusal = WEFT_REFUSED_SETTING;
    bad.refusal_detail = "WEFT_TUNING=a: line 1\nis bad";
    const RankCard read = RankCard::parse(bad.text());
    EXPECT_EQ(read.refusal, WEFT_REFUSED_SETTING);
    EXPECT_EQ(read.settings, bad.settings);
    const RankCard good = card_of("1.2", "chain");
    for (Rank place : {0, 1, 2}) {
        std::vector<RankCard> cards(3, good);
        cards[static_cast<std::size_t>(place)] = read;
        const Status status = check_agreement(cards);
        EXPECT_EQ(status.code, WEFT_REFUSED_SETTING);
        EXPECT_EQ(status.rank, place);
        EXPECT_EQ(last_detail(),
                  "rank " + std::to_string(place) + ": WEFT_TUNING=a: line 1 is bad");
    }
}

TEST(Card, EqualOnesAgree) {
    EXPECT_TRUE(check_agreement({card_of("1.2", "chain"), card_of("1.2", "chain")}).is_ok());
}

TEST(Card, AnotherVersionIsRefusedByRank) {
    Status status = check_agreement({card_of("1.2", ""), card_of("1.2", ""), card_of("1.3", "")});
    EXPECT_EQ(status.code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(status.rank, 2);
    EXPECT_STREQ(last_detail(),
                 "rank 2 has Weft version '1.3', rank 0 has '1.2'; expected the same");
}

TEST(Card, AnotherSettingIsRefusedByRankAndName) {
    Status status = check_agreement({card_of("1.2", "chain"), card_of("1.2", "")});
    EXPECT_EQ(status.code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(status.rank, 1);
    EXPECT_STREQ(last_detail(),
                 "rank 1 has WEFT_ALGORITHM='', rank 0 has 'chain'; expected the same");
}

}  // namespace weft::card_test
