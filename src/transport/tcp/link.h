// One connection of a pair, from when it is first needed; and the peer at its other end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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
    std::uint32_t turn = 0;         // added to a stream's: where this pair begins
    std::vector<std::unique_ptr<SharedConnection>> shared;        // null: not needed yet
    std::vector<std::unique_ptr<DedicatedConnection>> dedicated;  // that were needed
    bool lost = false;
    bool has_left = false;  // it has finalized
    bool loss_reported = false;
    weft_status loss = WEFT_BROKEN_RANK;  // how it was lost

    // Both ends say the same. Failure notices use connection 0.
    std::uint32_t turn_of(StreamId stream) const {
        return stream.context == 0 ? 0 : turn + stream.context + stream.stream;
    }
    std::uint32_t first_connection(StreamId stream) const { return turn_of(stream) % connections; }

    // Larger messages are cut over the links.
    std::uint64_t whole_bytes_max = 0;
    bool cuts(StreamId stream, std::uint64_t bytes) const {
        return bytes > whole_bytes_max && stream.context != 0;
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

    std::size_t expected = 0;  // posts of the user that need something to be read or written
    bool is_counted = false;   // in Core::owing

    StreamId stream() const { return StreamId::unpack(name); }
    bool is_dedicated() const { return stream().context != 0; }

    // Something is to be written.
    virtual bool owes() const = 0;
    virtual bool is_needed() const = 0;
    // Reads what is there, a bounded amount. The wire may be closed afterwards.
    virtual void read(Wire& wire) = 0;
    // Of a wire that is up.
    virtual void on_event(Wire& wire, std::uint32_t events) = 0;
};

}  // namespace weft::tcp
