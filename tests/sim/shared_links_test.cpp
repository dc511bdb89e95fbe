// Flows that share links by max-min fairness, also on tori whose links go one way.
#include "sim/shared_links.h"

#include "base/random.h"
#include "shape/torus.h"
#include "support/test.h"

namespace weft::simulate::shared_links_test {

using Ends = std::map<std::uint32_t, std::int64_t>;  // by flow

// All flows until the last has ended; `links` has no other ones.
Ends run(SharedLinks& links) {
    Ends ends;
    while (const std::optional<std::int64_t> next_ps = links.next_end_ps()) {
        for (const std::uint32_t name : links.ended(*next_ps)) ends[name] = *next_ps;
    }
    return ends;
}

TEST(SharedLinks, AFlowAloneHasTheSlowestLink) {
    SharedLinks links({10, 30, 20});
    links.start(500, {0, 1, 2}, 1000, 7);
    EXPECT_EQ(run(links), (Ends{{7, 500 + 30'000}}));
}

TEST(SharedLinks, WithoutLinksOrBytesItTakesNoTime) {
    SharedLinks links({10, 0});
    links.start(5, {}, 1000, 1);
    links.start(5, {1}, 1000, 2);
    links.start(5, {0}, 0, 3);
    EXPECT_EQ(run(links), (Ends{{1, 5}, {2, 5}, {3, 5}}));
}

// Two flows on one link; when the shorter has ended, the longer has all of it.
TEST(SharedLinks, FlowsShareALink) {
    SharedLinks links({10});
    links.start(0, {0}, 100, 1);
    links.start(0, {0}, 300, 2);
    EXPECT_EQ(run(links), (Ends{{1, 2000}, {2, 4000}}));
}

TEST(SharedLinks, AFlowThatStartsLaterTakesItsShareFromThen) {
    SharedLinks links({10});
    links.start(0, {0}, 300, 1);
    EXPECT_EQ(links.next_end_ps(), 3000);
    links.start(1000, {0}, 100, 2);
    // From 1000 on each has half: the second needs 2000.
    EXPECT_EQ(run(links), (Ends{{1, 4000}, {2, 3000}}));
}

// A long flow over two links, each shared with a short one: what one link lacks the other's flow
// gets.
TEST(SharedLinks, WhatOneFlowCannotUseAnotherGets) {
    SharedLinks links({10, 40});
    links.start(0, {0, 1}, 100, 1);  // half of the slow link: 1/80
    links.start(0, {1}, 100, 2);     // the other half
    links.start(0, {0}, 700, 3);     // the rest of the fast one: 1/10 - 1/80 = 7/80
    EXPECT_EQ(run(links), (Ends{{1, 8000}, {2, 8000}, {3, 8000}}));
}

// The links of a torus, and the rounds of exchanges on it.
struct OnTorus {
    explicit OnTorus(std::vector<Rank> sizes) : torus(std::move(sizes)) {}

    std::uint32_t link(Rank rank, std::size_t dimension) const {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(rank) * torus.sizes().size() +
                                          dimension);
    }

    // How long a round takes in which every rank sends a message to `peer(rank)`, in units of a
    // message alone on a link; and the same by the largest load of a link.
    std::pair<double, Rank> round(const std::function<Rank(Rank)>& peer) const {
        constexpr std::int64_t byte_ps = 3;
        constexpr std::int64_t bytes = 5'000'000;
        const std::size_t links = static_cast<std::size_t>(torus.ranks()) * torus.sizes().size();
        SharedLinks shared(std::vector<std::int64_t>(links, byte_ps));
        LinkLoads loads(torus);
        for (Rank r = 0; r < torus.ranks(); ++r) {
            std::vector<std::uint32_t> way;
            torus.for_each_link(r, peer(r),
                                [&](Rank at, std::size_t d) { way.push_back(link(at, d)); });
            loads.add(r, peer(r));
            shared.start(0, way, bytes, static_cast<std::uint32_t>(r));
        }
        std::int64_t last_ps = 0;
        for (const auto& [name, end_ps] : run(shared)) last_ps = std::max(last_ps, end_ps);
        return {static_cast<double>(last_ps) / (byte_ps * bytes), loads.most()};
    }

    // The sum over the rounds of an exchange of all with all; both ways of counting must agree.
    Rank rounds(const std::function<Rank(Rank, Rank)>& peer) const {
        Rank sum = 0;
        for (Rank k = 1; k < torus.ranks(); ++k) {
            const auto [fluid, load] = round([&](Rank r) { return peer(r, k); });
            EXPECT_NEAR(fluid, load, 1e-6) << "round " << k;
            sum += load;
        }
        return sum;
    }

    Torus torus;
};

TEST(SharedLinks, RoundsOnATorusTakeAsLongAsTheLargestLoad) {
    for (const auto& [sizes, by_xor, by_shift, by_torus_shift] :
         {std::tuple{std::vector<Rank>{4, 4}, 30, 37, 34},
          std::tuple{std::vector<Rank>{8, 8}, 252, 329, 308}}) {
        const OnTorus on(sizes);
        const Rank ranks = on.torus.ranks();
        const Rank row = sizes[1];
        EXPECT_EQ(on.rounds([](Rank r, Rank k) { return r ^ k; }), by_xor);
        EXPECT_EQ(on.rounds([=](Rank r, Rank k) { return (r + k) % ranks; }), by_shift);
        EXPECT_EQ(on.rounds([=](Rank r, Rank k) {
            return (r / row + k / row) % sizes[0] * row + (r % row + k % row) % row;
        }),
                  by_torus_shift);
    }
    const OnTorus ring({1, 8});
    EXPECT_EQ(ring.rounds([](Rank r, Rank k) { return r ^ k; }), 28);
    EXPECT_EQ(ring.rounds([](Rank r, Rank k) { return (r + k) % 8; }), 28);
}

// Of distances along the path of 8x8, and of a numbering by rows; by both ways of counting.
// Messages with the links of the path never meet in a binomial tree, against them they do.
TEST(SharedLinks, RoundsAlongAPath) {
    const OnTorus on({8, 8});
    const Rank ranks = on.torus.ranks();
    std::vector<Rank> place(static_cast<std::size_t>(ranks));
    for (Rank at = 0; at < ranks; ++at) place[static_cast<std::size_t>(on.torus.on_path(at))] = at;
    // Where the message from a place goes, on the path.
    const auto along = [&](auto to) {
        return [&, to](Rank r) { return on.torus.on_path(to(place[static_cast<std::size_t>(r)])); };
    };
    const auto by_step = [&](auto peer_of) {
        std::vector<Rank> loads;
        for (Rank step = 1; step < ranks; step *= 2) {
            const auto [fluid, load] = on.round(peer_of(step));
            EXPECT_NEAR(fluid, load, 1e-6) << "distance " << step;
            loads.push_back(load);
        }
        return loads;
    };
    EXPECT_EQ(on.rounds([&](Rank r, Rank k) {
        return along([=](Rank at) { return (at + k) % ranks; })(r);
    }),
              326);
    EXPECT_EQ(by_step([=](Rank step) { return [=](Rank r) { return (r + step) % ranks; }; }),
              (std::vector<Rank>{1, 2, 4, 1, 2, 4}));
    EXPECT_EQ(
        by_step([&](Rank step) { return along([=](Rank at) { return (at + step) % ranks; }); }),
        (std::vector<Rank>{1, 2, 4, 7, 6, 4}));
    EXPECT_EQ(std::ranges::max(
                  by_step([&](Rank step) { return along([=](Rank at) { return at ^ step; }); })),
              7);
    const auto gather = [&](Rank towards) {
        return by_step([&, towards](Rank step) {
            return along([=](Rank at) {
                const Rank from = towards > 0 ? 0 : step;
                return at % (2 * step) == from ? at + towards * step : at;
            });
        });
    };
    EXPECT_EQ(gather(1), std::vector<Rank>(6, 1)) << "to the last place";
    EXPECT_EQ(gather(-1), (std::vector<Rank>{4, 2, 1, 1, 1, 1})) << "to the first";
    EXPECT_EQ(std::ranges::max(by_step([&](Rank step) {
                  return along([=](Rank at) { return at < step ? at + step : at; });
              })),
              7)
        << "a broadcast whose distances double";
}

// No link is ever more than full, and no flow could have more: of random flows that start at one
// time.
TEST(SharedLinks, TheLastToEndHasItsShareOfTheFullestLink) {
    Prng prng(3);
    for (int i = 0; i < 200; ++i) {
        constexpr std::uint32_t count = 6;
        SharedLinks links(std::vector<std::int64_t>(count, 10));
        std::vector<std::uint32_t> load(count);
        for (std::uint32_t flow = 0; flow < 12; ++flow) {
            std::vector<std::uint32_t> way;
            for (std::uint32_t link = 0; link < count; ++link) {
                if (prng.one_in(3)) way.push_back(link);
            }
            if (way.empty()) way.push_back(0);
            for (const std::uint32_t link : way) ++load[link];
            links.start(0, way, 100'000, flow);
        }
        // Everybody has at least the share of the fullest link; those on it have no more.
        const std::int64_t slowest = 1'000'000 * std::int64_t{std::ranges::max(load)};
        const Ends ends = run(links);
        EXPECT_EQ(ends.size(), 12u);
        std::int64_t last = 0;
        for (const auto& [name, end_ps] : ends) last = std::max(last, end_ps);
        EXPECT_NEAR(static_cast<double>(last), static_cast<double>(slowest), 20);
    }
}

}  // namespace weft::simulate::shared_links_test
