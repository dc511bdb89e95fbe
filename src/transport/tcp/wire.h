// One socket, and the frame that is being read from it.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/fd.h"
#include "tcp/handshake.h"
#include "transport/dedicated.h"
#include "transport/silence.h"

namespace weft::tcp {

// The frames on a connection, each a 16-byte header (a MessageHeader, with more kinds)
// and, for two kinds, payload.

enum class FrameKind : std::uint8_t {
    welcome = 1,                     // the called rank's first frame: the connection is in use
    eager = MessageHeader::message,  // sent without a CTS; payload: `bytes`
    data,    // a part of a message that is cleared; `bytes` of it were left before this part
    rts,     // ready to send: a message of `bytes` waits at its sender
    cts,     // clear to send: the receiver is ready for the lane's next message that needs one
    credit,  // `bytes` of eager messages have been used up; of no lane
    bye,     // the sender leaves in good order; of no lane
    full,    // in place of `welcome`: the called rank has no descriptor for the connection, and
             // hangs up; `bytes`: 1 if it has given the caller up
};

// A part is as much as is left, at most this.
inline constexpr std::uint64_t part_bytes = 128 * 1024;

struct Frame {
    static constexpr std::size_t header_bytes = MessageHeader::size;
    static constexpr std::uint64_t bytes_max = MessageHeader::bytes_max;
    using Header = MessageHeader::Encoded;

    FrameKind kind{};
    std::uint16_t sequence = 0;  // of this sender's frames on this connection
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;

    std::uint64_t payload_bytes() const {
        if (kind == FrameKind::eager) return bytes;
        if (kind == FrameKind::data) return bytes < part_bytes ? bytes : part_bytes;
        return 0;
    }

    Header encoded() const {
        return MessageHeader{static_cast<std::uint8_t>(kind), sequence, bytes, stream}.encoded();
    }
    static Frame decoded(const Header& encoded) {
        const MessageHeader header = MessageHeader::decoded(encoded);
        return {static_cast<FrameKind>(header.kind), header.sequence, header.bytes, header.stream};
    }
};

struct Link;
struct Peer;
struct Post;
struct Unexpected;

// A descriptor that the transport's epoll watches.
struct Source {
    enum class Kind : std::uint8_t { wire, listener, timer };
    explicit Source(Kind k) : kind(k) {}
    Kind kind;
};

struct Listener : Source {
    explicit Listener(Fd socket) : Source(Kind::listener), fd(std::move(socket)) {}
    UnsharedFd fd;
};

struct Wire : Source {
    enum class State : std::uint8_t {
        connecting,
        proving,     // in the handshake
        unanswered,  // we are authenticated; the other end has not answered with `welcome`
        up,
        parting,  // dedicated to a stream that has ended here; arrivals are dropped
        closed,
    };
    Wire(Fd socket, int transport_epoll)
        : Source(Kind::wire), fd(std::move(socket)), epoll(transport_epoll) {}
    ~Wire() { close(); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    UnsharedFd fd;
    bool stays_open = false;  // see DedicatedConnections::keep_open()
    int epoll;
    State state = State::connecting;
    Link* link = nullptr;      // null: a caller that has not proven itself, or parting
    Peer* parts = nullptr;     // when parting: the other end,
    std::uint64_t parted = 0;  // and the connection's name: see Link::name
    bool is_caller = false;    // this end is
    std::optional<Handshake> handshake;
    std::int64_t deadline_ns = 0;  // of a caller's proof
    std::uint32_t watched = 0;     // events: see listen_for()
    int wake_bytes = 1;            // a sleeper is woken when this many have arrived
    Silence silence;               // of the other end
    int write_error = 0;           // nothing can be written any more

    Frame::Header header;
    std::size_t header_bytes = 0;
    std::uint16_t next_sequence = 0;  // of the frames read
    Frame frame;                      // whose payload is being read
    std::uint64_t left = 0;           // of that payload
    // Of a shared connection:
    Post* post = nullptr;              // where it goes,
    Unexpected* unexpected = nullptr;  // or here, or nowhere

    // Closes the socket.
    void close();
    // Enters the epoll. False: that has no memory for it.
    bool watch();
    // From now on the epoll watches for these events. With 0, at most one comes before the next
    // call: when the connection is reset.
    void listen_for(std::uint32_t events);
    void watch_out(bool out);

    // A sleeper is woken when a good part of the frame has arrived.
    void sleep_until_worthwhile();
    // SO_RCVLOWAT must not exceed the rest of the frame.
    void note_read() {
        if (static_cast<std::uint64_t>(wake_bytes) > (left > 0 ? left : 1))
            sleep_until_worthwhile();
    }

    // Writes as much as the socket takes. Returns how many bytes; 0: it is full; less: it has
    // failed, with `write_error`.
    ssize_t write(std::span<iovec> pieces);
    // Reads available data. Returns how many bytes; 0: nothing; less: the connection has ended,
    // with this errno in `error`, or 0 if the other end has closed it.
    ssize_t read(std::span<iovec> pieces, int& error);
};

}  // namespace weft::tcp
