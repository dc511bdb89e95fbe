// One connection of a pair, from when it is first needed; and the peer at its other end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/link_limit.h"
#include "transport/tcp/address.h"
#include "transport/tcp/wire.h"
#include "transport/transport.h"

namespace weft::tcp {

class SharedConnection;
class DedicatedConnection;

struct Peer {
    Rank rank = -1;
    std::vector<Address> addresses;
    std::uint32_t connections = 1;  // shared ones, over
    std::uint32_t links = 1;        // so many links: connection c uses link c modulo `links`
    std::uint32_t ranks = 1;        // of the job
    std::uint32_t turn = 0;         // added to a stream's: where this pair begins
    std::vector<std::unique_ptr<SharedConnection>> shared;        // null: not needed yet
    std::vector<std::unique_ptr<DedicatedConnection>> dedicated;  // that were needed
    bool lost = false;
    bool has_left = false;  // it has finalized
    bool loss_reported = false;
    std::int64_t ending_since_ns = 0;     // one of its connections has ended; 0: none has
    weft_status loss = WEFT_BROKEN_RANK;  // how it was lost

    bool uses_all_links(StreamId stream) const {
        const std::uint32_t limit = LinkLimit::of(stream.context()).links;
        return limit == 0 || limit >= std::max<std::size_t>(links, addresses.size());
    }
    // So many of the links are for this stream's messages.
    std::uint32_t links_of(StreamId stream) const {
        if (uses_all_links(stream)) [[likely]]
            return links;
        return std::min(links, LinkLimit::of(stream.context()).links);
    }
    // Both ends say the same. Failure notices use connection 0. Of a communicator that does not use
    // all links, all pairs and streams use the same ones; communicators take turns.
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

// When both ranks call each other at once, both calls may succeed: then each rank sends on one wire
// and reads from both.
struct Link {
    Link(Peer& p, std::uint64_t n) : peer(p), name(n) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    Peer& peer;
    const std::uint64_t name;  // see Hello::connection

    Wire* out = nullptr;          // what we send on, when it is up
    Wire* in = nullptr;           // what the peer sends on
    Wire* calling = nullptr;      // our call, until it is up
    std::int64_t call_at_ns = 0;  // when to call again; 0: not planned
    int calls_failed = 0;         // in a row
    bool was_up = false;

    std::size_t expected = 0;  // posts of the user that need something to be read or written
    bool is_counted = false;   // in Core::owing

    StreamId stream() const { return StreamId::unpack(name); }
    bool is_dedicated() const { return stream().context() != 0; }

    // There may be something of the peer's that has not been read: it may have accepted our call, and sent on it,
    // before it ended.
    bool may_say_more() const {
        return in != nullptr || (calling != nullptr && calling->state == Wire::State::unanswered);
    }

    // Something is to be written.
    virtual bool owes() const = 0;
    virtual bool is_needed() const = 0;
    // Reads what is there, a bounded amount. The wire may be closed afterwards.
    virtual void read(Wire& wire) = 0;
    // Of a wire that is up.
    virtual void on_event(Wire& wire, std::uint32_t events) = 0;
};

}  // namespace weft::tcp
