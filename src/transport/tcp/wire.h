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

#include "base/unshared_fd.h"
#include "transport/silence.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/handshake.h"

namespace weft::tcp {

struct Link;
struct Peer;
struct Post;
struct Unexpected;

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

struct Wire : Source {
    enum class State : std::uint8_t {
        connecting,
        proving,     // in the handshake
        unanswered,  // we have proven ourselves; the other end has not answered with `welcome`
        up,
        parting,  // dedicated to a stream that has ended here; what still comes is dropped
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
    int wake_bytes = 1;            // so many must have come before a sleeper is woken
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

    // A sleeper is woken when a good part of the frame has come.
    void sleep_until_worthwhile();
    // SO_RCVLOWAT must not exceed what is left of the frame.
    void note_read() {
        if (static_cast<std::uint64_t>(wake_bytes) > (left > 0 ? left : 1))
            sleep_until_worthwhile();
    }

    // Writes what the socket takes. Returns how many bytes; 0: it is full; less: it has failed,
    // with `write_error`.
    ssize_t write(std::span<iovec> pieces);
    // Reads what is there. Returns how many bytes; 0: nothing; less: the connection has ended, with
    // this errno in `error`, or 0 if the other end has closed it.
    ssize_t read(std::span<iovec> pieces, int& error);
};

}  // namespace weft::tcp
