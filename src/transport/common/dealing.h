// How messages are striped across the links between two nodes (multi-rail): which link a pair of
// ranks uses, so that the messages of one collective use all links of a node (those to the left and
// to the right in a ring, or over several distances), and how a large message is cut over all.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/link_limit.h"
#include "transport/transport.h"

namespace weft {

// A number of the pair: the link is its remainder by the number of links. Both ends compute the
// same.
//
// Along a ring of nodes with steps of one distance, each step has the number after the one before
// it, so a node's two neighbours in a ring have different links. No rule does that and spreads all
// sets of distances at every node; this one spreads them best of twelve that were tried.
inline std::uint32_t turn_of_pair(std::uint32_t node, std::uint32_t other, std::uint32_t nodes) {
    const auto [low, high] = std::minmax(node, other);
    const std::uint32_t up = high - low;
    const std::uint32_t down = nodes - up;
    const std::uint32_t distance = std::min(up, down);
    if (distance == 0) return 0;
    const std::uint32_t start = up <= down ? low : high;
    return start / distance + distance * (distance + 1) / 2;
}

// Where a rank is: its node, and its number among the ranks of that node.
struct PlaceInJob {
    std::uint32_t node = 0;
    std::uint32_t number = 0;
};

// In a job of `nodes` nodes.
inline std::uint32_t turn_of_pair(const PlaceInJob& a, const PlaceInJob& b, std::uint32_t nodes) {
    return turn_of_pair(a.node, b.node, nodes) + a.number + b.number;
}

// By rank: ranks with the same host, that of their first address, are on one node. All ranks must
// give the same hosts.
std::vector<PlaceInJob> places_in_job(std::span<const std::string> hosts);

// Which links and connections of a pair of ranks a message takes.
struct PairLinks {
    std::uint32_t links = 1;        // that are used
    std::uint32_t interfaces = 1;   // of the end that has more: the number of links
    std::uint32_t connections = 1;  // connection c uses link c modulo `links`
    std::uint32_t ranks = 1;        // of the job
    std::uint32_t turn = 0;         // added to a stream's: where this pair begins

    bool uses_all_links(StreamId stream) const {
        const std::uint32_t limit = LinkLimit::of(stream.context()).links;
        return limit == 0 || limit >= std::max(links, interfaces);
    }
    // The number of links for this stream's messages.
    std::uint32_t links_of(StreamId stream) const {
        if (uses_all_links(stream)) [[likely]]
            return links;
        return std::min(links, LinkLimit::of(stream.context()).links);
    }
    // Both ends compute the same. Failure notices use connection 0. Of a communicator that does not
    // use all links, all pairs and streams use the same ones; communicators take turns.
    std::uint32_t turn_of(StreamId stream, std::uint32_t piece = 0) const {
        if (stream.context() == 0) return 0;
        if (uses_all_links(stream)) [[likely]]
            return turn + static_cast<std::uint32_t>(stream.context()) + stream.stream();
        const std::uint64_t begin = LinkLimit::of(stream.context()).number / ranks;
        return (static_cast<std::uint32_t>(begin % links) +
                (stream.stream() + piece) % links_of(stream)) %
               links;
    }
    std::uint32_t first_connection(StreamId stream) const { return turn_of(stream) % connections; }
    // Of a piece of a message that is cut: each has another link. Connections beyond a multiple of
    // the links are there for some pieces only.
    std::uint32_t connection_of(StreamId stream, std::uint32_t piece) const {
        if (!uses_all_links(stream)) return turn_of(stream, piece);
        const std::uint32_t first = first_connection(stream);
        const std::uint32_t link = (first + piece) % links;
        const std::uint32_t connection = first - first % links + link;
        return connection < connections ? connection : link;
    }

    // Larger messages are cut over the links.
    std::uint64_t whole_bytes_max = 0;
    bool cuts(StreamId stream, std::uint64_t bytes) const {
        return bytes > whole_bytes_max && stream.context() != 0 && links_of(stream) > 1;
    }
};

// A piece of `message_bytes` over `links`: where it begins, and how long it is.
struct Cut {
    std::uint64_t offset;
    std::uint64_t bytes;

    static Cut of(std::uint64_t message_bytes, std::uint32_t piece, std::uint32_t links) {
        constexpr std::uint64_t cache_line = 64;
        const std::uint64_t each = message_bytes / links / cache_line * cache_line;
        const std::uint64_t offset = each * piece;
        return {offset, piece + 1 == links ? message_bytes - offset : each};
    }
};

}  // namespace weft
