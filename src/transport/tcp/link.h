// One connection of a pair, from when it is first needed; and the peer at its other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tcp/address.h"
#include "transport/common/dealing.h"
#include "transport/tcp/wire.h"
#include "transport/transport.h"

namespace weft::tcp {

class SharedConnection;
class DedicatedConnection;

struct Peer : PairLinks {
    Rank rank = -1;
    std::vector<Address> addresses;
    // Called in turn with the only one of `addresses`, until one answers.
    std::vector<Address> others;
    std::size_t way = 0;               // which is called: 0 is the first one, then the others
    bool was_reached = false;          // that way
    bool has_refused = false;          // the first one, in this round
    int rounds = 0;                    // of calls of all of them
    std::int64_t called_since_ns = 0;  // the first call of all
    std::vector<std::unique_ptr<SharedConnection>> shared;        // null: not needed yet
    std::vector<std::unique_ptr<DedicatedConnection>> dedicated;  // that were needed
    bool lost = false;
    bool has_left = false;  // it has finalized
    bool loss_reported = false;
    int expected = 0;                     // receives from any source that may be for its messages
    std::int64_t ending_since_ns = 0;     // one of its connections has ended; 0: none has
    weft_status loss = WEFT_BROKEN_RANK;  // how it was lost

    // Where to call, for the connection of this number.
    const Address& address(std::uint32_t number) const {
        return way == 0 ? addresses[number % addresses.size()] : others[way - 1];
    }
    bool has_choice() const { return !others.empty() && !was_reached; }
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

    Wire* out = nullptr;          // for sending, when it is up
    Wire* in = nullptr;           // for receiving
    Wire* calling = nullptr;      // our call, until it is up
    std::int64_t call_at_ns = 0;  // when to call again; 0: not planned
    int calls_failed = 0;         // in a row
    bool was_up = false;
    std::size_t way = 0;  // of the peer, when it was called last

    std::size_t expected = 0;  // posts of the user that need something to be read or written
    bool is_counted = false;   // in Core::owing

    StreamId stream() const { return StreamId::unpack(name); }
    bool is_dedicated() const { return stream().context() != 0; }

    // There may be unread data of the peer: it may have accepted our call, and sent on it, before
    // it ended.
    bool may_say_more() const {
        return in != nullptr || (calling != nullptr && calling->state == Wire::State::unanswered);
    }

    // Something is to be written.
    virtual bool owes() const = 0;
    virtual bool is_needed() const = 0;
    // Reads available data, a bounded amount. The wire may be closed afterwards.
    virtual void read(Wire& wire) = 0;
    // Of a wire that is up.
    virtual void on_event(Wire& wire, std::uint32_t events) = 0;
};

}  // namespace weft::tcp
