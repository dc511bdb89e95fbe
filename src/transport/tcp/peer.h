// What the transport keeps about its connections and the ranks at their other ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "base/unshared_fd.h"
#include "transport/dedicated.h"
#include "transport/matching/credit.h"
#include "transport/matching/lane_table.h"
#include "transport/tcp/address.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/lanes.h"

namespace weft::tcp {

struct Peer;
struct Link;
struct DedicatedConnection;

// What the transport's epoll watches.
struct Source {
    enum class Kind : std::uint8_t { wire, listener, timer };
    explicit Source(Kind k) : kind(k) {}
    Kind kind;
};

struct Listener : Source {
    explicit Listener(Fd socket) : Source(Kind::listener), fd(std::move(socket)) {}
    UnsharedFd fd;
};

// One socket, and the frame that is being read from it.
struct Wire : Source {
    enum class State : std::uint8_t {
        connecting,
        proving,     // in the handshake
        unanswered,  // we have proven ourselves; the other end has not answered with `welcome`
        up,
        parting,  // dedicated to a stream that has ended here; what still comes is dropped
        closed,
    };
    explicit Wire(Fd socket) : Source(Kind::wire), fd(std::move(socket)) {}

    UnsharedFd fd;
    State state = State::connecting;
    Link* link = nullptr;      // null: a caller that has not proven itself, or parting
    Peer* parts = nullptr;     // when parting: the other end,
    std::uint64_t parted = 0;  // and the connection's name: see Link::name
    bool is_caller = false;    // this end is
    std::optional<Handshake> handshake;
    std::int64_t deadline_ns = 0;  // of a caller's proof
    std::uint32_t watched = 0;     // events; 0: not in the epoll
    int wake_bytes = 1;            // so many must have come before a sleeper is woken
    std::int64_t unheard_ns = 0;   // since when retransmissions go unanswered; 0: none
    int write_error = 0;           // nothing can be written any more

    Frame::Header header;
    std::size_t header_bytes = 0;
    std::uint16_t next_sequence = 0;  // of the frames read
    Frame frame;                      // whose payload is being read
    std::uint64_t left = 0;           // of that payload
    // Of a shared connection:
    Post* post = nullptr;              // where it goes: the first of its lane,
    Unexpected* unexpected = nullptr;  // or the last of its lane, or nowhere
};

// One connection of a pair, from when it is first needed. When both ranks call each other at once,
// both calls may succeed: then each rank sends on one wire and reads from both.
struct Link {
    Link(Peer& p, std::uint64_t n) : peer(p), name(n) {}

    Peer& peer;
    std::uint64_t name;  // see Hello::connection

    Wire* out = nullptr;          // what we send on, when it is up
    Wire* in = nullptr;           // what the peer sends on
    Wire* calling = nullptr;      // our call, until it is up
    std::int64_t call_at_ns = 0;  // when to call again; 0: not planned
    int calls_failed = 0;         // in a row

    std::size_t expected = 0;  // posts of the user that need something to be read or written
    bool is_counted = false;   // in TcpTransport::owing_

    StreamId stream() const { return StreamId::unpack(name); }
    bool is_dedicated() const { return stream().context != 0; }
};

// A connection that all streams share.
struct SharedConnection : Link {
    SharedConnection(Peer& p, std::uint64_t n, Credit c) : Link(p, n), credit(c) {}

    bool has_left = false;  // the peer has said that it sends nothing more on it
    LaneTable<SendLane> sends;
    LaneTable<ReceiveLane> receives;
    Fifo<Frame> controls;       // frames without payload, which go first
    Fifo<std::uint64_t> ready;  // streams whose first send may be written, taking turns

    // What is being written: headers of frames without payload; only the last may have one.
    static constexpr std::size_t frames_max = 16;
    std::array<std::byte, frames_max * Frame::header_bytes> head;
    std::size_t head_bytes = 0;
    std::size_t head_left = 0;
    std::uint64_t payload_left = 0;
    const std::byte* payload = nullptr;
    std::optional<std::uint64_t> writing;  // the stream whose first send the payload belongs to,
    std::uint64_t writing_bytes = 0;       // so many bytes of it
    std::vector<std::byte> orphan;         // a copy of the payload, if that send was abandoned
    std::uint16_t next_sequence = 0;

    Credit credit;

    bool is_put_off = false;  // in TcpTransport::put_off_

    bool is_writing() const { return head_left > 0 || payload_left > 0; }
    bool owes() const { return is_writing() || !controls.empty() || !ready.empty(); }
};

// One entry in the queue of a dedicated connection's direction: a message of the user's, or all
// messages of a list.
struct Place {
    Place* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read
    std::uint64_t bytes = 0;
    std::uint64_t moved = 0;  // of a send with its header, of a receive without
    Token token{};
    std::uint16_t sequence = 0;
    // Of a list:
    ListPlace* list = nullptr;  // null: a message
    bool is_granted = false;
    bool is_given_back = false;  // done, while an earlier one is not
    bool has_failed = false;
    bool sends = false;
    DedicatedConnection* dedicated = nullptr;
};

struct Direction {
    Chain<Place> places;
    std::uint16_t next_sequence = 0;
    bool is_over = false;  // nothing moves any more
};

// A connection for one stream (transport/dedicated.h).
struct DedicatedConnection : Link {
    using Link::Link;

    Direction sends;
    Direction receives;
    std::size_t lists = 0;  // places of lists
    // The message that is being read does not fit its receive.
    bool is_dropping = false;
    // Since when somebody needs the connection, it has ended, and the peer has not said why; 0: not
    // so.
    std::int64_t unexplained_ns = 0;

    Direction& direction(bool sending) { return sending ? sends : receives; }
    bool owes() const {
        return out != nullptr && !sends.is_over && !sends.places.empty() &&
               sends.places.first->list == nullptr;
    }
};

struct Peer {
    Rank rank = -1;
    std::vector<Address> addresses;
    std::uint32_t connections = 1;
    std::vector<std::unique_ptr<SharedConnection>> shared;        // null: not needed yet
    std::vector<std::unique_ptr<DedicatedConnection>> dedicated;  // that were needed
    bool lost = false;
    bool has_left = false;  // it has finalized
    bool loss_reported = false;
    weft_status loss = WEFT_BROKEN_RANK;  // how it was lost
};

}  // namespace weft::tcp
