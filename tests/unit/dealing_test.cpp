// How pairs of ranks are dealt over links, and messages cut over them.
#include "transport/common/dealing.h"

#include "support/test.h"

namespace weft::test::dealing_test {

TEST(Dealing, BothEndsSayTheSame) {
    for (std::uint32_t nodes = 1; nodes <= 9; ++nodes) {
        for (std::uint32_t a = 0; a < nodes; ++a) {
            for (std::uint32_t b = 0; b < nodes; ++b)
                EXPECT_EQ(turn_of_pair(a, b, nodes), turn_of_pair(b, a, nodes))
                    << a << " and " << b << " of " << nodes;
        }
    }
}

TEST(Dealing, NeighboursInARingHaveDifferentLinks) {
    for (const std::uint32_t links : {2u, 4u}) {
        for (std::uint32_t nodes = 4; nodes <= 32; nodes += 4) {
            for (std::uint32_t node = 0; node < nodes; ++node)
                EXPECT_NE(turn_of_pair(node, (node + 1) % nodes, nodes) % links,
                          turn_of_pair(node, (node + nodes - 1) % nodes, nodes) % links)
                    << "node " << node << " of " << nodes << ", " << links << " links";
        }
    }
}

// How much longer the most used link of a node takes than if all were used alike, on average: sends over
// these distances at a time, or receives.
double slowdown(std::uint32_t nodes, std::uint32_t links,
                const std::vector<std::uint32_t>& distances) {
    double sum = 0;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        for (const bool sends : {true, false}) {
            std::vector<int> uses(links);
            for (const std::uint32_t distance : distances) {
                const std::uint32_t other = (node + (sends ? distance : nodes - distance)) % nodes;
                ++uses[turn_of_pair(node, other, nodes) % links];
            }
            sum += std::ranges::max(uses) * links / static_cast<double>(distances.size());
        }
    }
    return sum / (2 * nodes);
}

// What a random choice of links would take for so many distances, on average.
double slowdown_by_chance(std::uint32_t links, std::uint32_t distances) {
    std::vector<std::uint32_t> choice(distances);
    double sum = 0;
    int choices = 0;
    for (bool is_next = true; is_next; ++choices) {
        std::vector<int> uses(links);
        for (const std::uint32_t link : choice) ++uses[link];
        sum += std::ranges::max(uses);
        is_next = false;
        for (std::uint32_t& link : choice) {
            is_next = ++link < links;
            if (is_next) break;
            link = 0;
        }
    }
    return sum / choices * links / distances;
}

// In a step of Bruck's algorithm, or of an exchange over k ports, a node sends over k distances at a time:
// consecutive ones, or multiples.
const std::vector<std::uint32_t> numbers_of_nodes = {4, 5, 8, 12, 16, 17, 32};

TEST(Dealing, ThreeConsecutiveDistancesSpreadBetterThanByChance) {
    for (const std::uint32_t links : {2u, 4u}) {
        const double by_chance = slowdown_by_chance(links, 3);
        double sum = 0;
        for (const std::uint32_t nodes : numbers_of_nodes) {
            const double one = slowdown(nodes, links, {1, 2, 3});
            EXPECT_LE(one, by_chance) << nodes << " nodes, " << links << " links";
            sum += one;
        }
        const double best = 4 / 3.0;
        EXPECT_LE(sum / static_cast<double>(numbers_of_nodes.size()),
                  by_chance - (by_chance - best) / 5)
            << links << " links";
    }
}

// That neighbours in a ring have different links leaves no more for these, and not even that among five nodes.
TEST(Dealing, OtherDistancesSpreadAboutAsByChance) {
    for (const std::uint32_t nodes : numbers_of_nodes) {
        for (const std::vector<std::uint32_t>& distances :
             {std::vector<std::uint32_t>{1, 2}, {2, 4}, {4, 8, 12}}) {
            if (distances.back() >= nodes) continue;
            const auto count = static_cast<std::uint32_t>(distances.size());
            for (const std::uint32_t links : {2u, 4u}) {
                EXPECT_LE(slowdown(nodes, links, distances),
                          slowdown_by_chance(links, count) * (nodes == 5 ? 1.2 : 1.04))
                    << nodes << " nodes, " << links << " links, " << count << " distances from "
                    << distances.front();
            }
        }
    }
}

TEST(PlacesInJob, RanksOfAHostAreOnANode) {
    const std::vector<std::string> hosts = {"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2",
                                            "fd00::1"};
    std::string text;
    for (const PlaceInJob& place : places_in_job(hosts))
        text += std::to_string(place.node) + "." + std::to_string(place.number) + " ";
    EXPECT_EQ(text, "0.0 1.0 0.1 1.1 2.0 ");
}

TEST(Cut, PiecesCoverTheMessage) {
    for (std::uint32_t links = 1; links <= 5; ++links) {
        for (const std::uint64_t bytes : {0u, 1u, 63u, 64u, 320u, 1000u, 65536u, 1000001u}) {
            std::uint64_t end = 0;
            for (std::uint32_t piece = 0; piece < links; ++piece) {
                const Cut cut = Cut::of(bytes, piece, links);
                EXPECT_EQ(cut.offset, end);
                EXPECT_EQ(cut.offset % 64, 0u) << "pieces share no cache line";
                EXPECT_LE(cut.bytes, bytes / links + 64 * links);
                end = cut.offset + cut.bytes;
            }
            EXPECT_EQ(end, bytes) << links << " links";
        }
    }
}

TEST(PairLinks, PiecesHaveLinksAndConnectionsOfTheirOwn) {
    for (std::uint32_t links = 1; links <= 4; ++links) {
        for (std::uint32_t connections = links; connections <= 9; ++connections) {
            PairLinks peer;
            peer.links = links;
            peer.connections = connections;
            std::set<std::uint32_t> firsts;
            for (std::uint32_t stream = 0; stream < 40; ++stream) {
                const StreamId id = {3, stream};
                std::set<std::uint32_t> used;
                std::set<std::uint32_t> used_links;
                for (std::uint32_t piece = 0; piece < links; ++piece) {
                    const std::uint32_t connection = peer.connection_of(id, piece);
                    EXPECT_LT(connection, connections);
                    used.insert(connection);
                    used_links.insert(connection % links);
                }
                EXPECT_EQ(used.size(), links) << connections << " connections";
                EXPECT_EQ(used_links.size(), links) << connections << " connections";
                EXPECT_EQ(peer.connection_of(id, 0), peer.first_connection(id));
                firsts.insert(peer.first_connection(id));
            }
            EXPECT_EQ(firsts.size(), connections) << "none is idle";
        }
    }
}

TEST(LinkLimit, IsSaidByTheContext) {
    for (std::uint32_t links = 0; links <= LinkLimit::links_max; ++links) {
        for (const std::uint64_t number :
             {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4711}, LinkLimit::number_mask}) {
            const std::uint64_t context = LinkLimit::context_of(links, number);
            EXPECT_NE(context, 0u);
            EXPECT_EQ(LinkLimit::of(context).links, links);
            EXPECT_EQ(LinkLimit::of(context).number, number);
        }
        const std::uint64_t none = links == 0 ? LinkLimit::limited : LinkLimit::number_mask + 1u;
        EXPECT_EQ(LinkLimit::context_of(links, none), 0u);
    }
}

TEST(LinkLimit, HandedOutLimitedAndHashedContextsNeverMeet) {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    const std::uint64_t handed_out_max = LinkLimit::context_of(0, LinkLimit::limited - 1);
    const std::uint64_t limited_min = LinkLimit::context_of(1, 0);
    const std::uint64_t limited_max =
        LinkLimit::context_of(LinkLimit::links_max, LinkLimit::number_mask);
    EXPECT_LT(handed_out_max, limited_min);
    EXPECT_LT(limited_max, LinkLimit::hashed_context(0));
    EXPECT_LT(LinkLimit::hashed_context(0), LinkLimit::hashed_context(all));
    EXPECT_EQ(LinkLimit::hashed_context(all) >> StreamId::context_bits, 0u) << "it fits";
    for (const std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{1} << 40, all})
        EXPECT_EQ(LinkLimit::of(LinkLimit::hashed_context(hash)).links, 0u);
}

// What headers and keys carry: 40 bits of context, 24 bits of stream.
TEST(StreamId, PacksAContextAndAStream) {
    const std::uint64_t context_max = (std::uint64_t{1} << StreamId::context_bits) - 1;
    for (const std::uint64_t context : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32,
                                        LinkLimit::hashed_context(12345), context_max}) {
        for (const std::uint32_t stream : {0u, 1u, 0x10000u, StreamId::stream_max}) {
            const StreamId id(context, stream);
            EXPECT_EQ(id.context(), context);
            EXPECT_EQ(id.stream(), stream);
            EXPECT_EQ(StreamId::unpack(id.packed()), id);
            EXPECT_EQ(context_of(id.packed()), context);
            if (stream < StreamId::stream_max) {
                EXPECT_EQ(StreamId(context, stream + 1).packed(), id.packed() + 1);
            }
        }
    }
    EXPECT_EQ(sizeof(StreamId), 8u);
    EXPECT_EQ(StreamId(0, 3).packed(), 3u) << "shared connections are numbers";
}

// Whatever the pair of ranks.
TEST(LinkLimit, KeepsAllStreamsOfACommunicatorOnItsLinks) {
    PairLinks peer;
    peer.links = peer.connections = 4;
    peer.ranks = 6;
    std::set<std::uint32_t> firsts;
    for (std::uint32_t made = 0; made < 4; ++made) {
        const std::uint64_t context = LinkLimit::context_of(1, 3 + made * peer.ranks);
        std::set<std::uint32_t> used;
        for (peer.turn = 0; peer.turn < 5; ++peer.turn) {
            for (std::uint32_t stream = 0; stream < 9; ++stream)
                used.insert(peer.first_connection({context, stream}));
        }
        EXPECT_EQ(used.size(), 1u);
        EXPECT_FALSE(peer.cuts({context, 0}, UINT64_MAX));
        firsts.insert(*used.begin());
    }
    EXPECT_EQ(firsts.size(), 4u) << "communicators take turns";

    for (const std::uint32_t limit : {2u, 3u}) {
        const std::uint64_t context = LinkLimit::context_of(limit, 3);
        std::set<std::uint32_t> all;
        for (std::uint32_t stream = 0; stream < 9; ++stream) {
            std::set<std::uint32_t> of_pieces;
            for (std::uint32_t piece = 0; piece < limit; ++piece)
                of_pieces.insert(peer.connection_of({context, stream}, piece));
            EXPECT_EQ(of_pieces.size(), limit);
            EXPECT_TRUE(of_pieces.contains(peer.first_connection({context, stream})));
            all.merge(of_pieces);
        }
        EXPECT_EQ(all.size(), limit) << "all streams have the same links";
    }
    EXPECT_EQ(peer.links_of({LinkLimit::context_of(8, 3), 0}), 4u) << "there are no more";
}

// Dedicated connections choose an address by the turn, shared ones by their number.
TEST(LinkLimit, IsKeptWithFewerConnectionsThanAddresses) {
    PairLinks peer;
    peer.interfaces = 4;
    peer.links = peer.connections = 1;
    const std::uint64_t context = LinkLimit::context_of(1, 3);
    for (std::uint32_t stream = 0; stream < 9; ++stream) {
        EXPECT_EQ(peer.turn_of({context, stream}), 0u);
        EXPECT_EQ(peer.first_connection({context, stream}), 0u);
    }
}

}  // namespace weft::test::dealing_test
