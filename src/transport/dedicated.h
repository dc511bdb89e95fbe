// Dedicated connections, each for one stream: a task list needs a byte stream to itself.
//
// A dedicated connection carries, in both directions, the messages of one stream to one peer and
// nothing else: a MessageHeader, then the bytes. An early sender fills the sockets' buffers, where
// the data stays until its receive is posted. The executor and task lists move the same bytes.
//
// With dedicated_rendezvous, a message of cleared_bytes_min() and more waits for its CTS: its
// sender sends the header, waits, and sends the bytes. The CTS is a message without bytes on a
// second connection of the stream and the pair, which carries nothing else: the k-th one from the
// receiver clears the k-th message of the sender that needs one.
//
// Each direction is a queue of places: a message posted through the transport's verbs has one, a
// task list has one for all its messages. Places take turns in order.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/transport.h"

namespace weft {

// The header in front of a message's bytes.
//
//   byte  0  8  the lane's stream: communicator and order within it
//         8  8  bits 0-43 bytes, 44-59 sequence, 60-63 kind
//
// Numbers have the byte order of the machine; all ranks of a job are of one kind.
struct MessageHeader {
    static constexpr std::size_t size = 16;
    static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1;
    static constexpr std::uint8_t message = 2;  // the kind; others are the transport's own
    using Encoded = std::array<std::byte, size>;

    std::uint8_t kind = message;
    std::uint16_t sequence = 0;  // of this sender's messages on this connection
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;

    Encoded encoded() const {
        const std::uint64_t words[2] = {
            stream, bytes | std::uint64_t{sequence} << 44 | std::uint64_t{kind} << 60};
        Encoded header;
        std::memcpy(header.data(), words, sizeof words);
        return header;
    }
    static MessageHeader decoded(const Encoded& header) {
        std::uint64_t words[2];
        std::memcpy(words, header.data(), sizeof words);
        return {static_cast<std::uint8_t>(words[1] >> 60),
                static_cast<std::uint16_t>(words[1] >> 44), words[1] & bytes_max, words[0]};
    }
};

// A list's place. The caller owns it, and must not move it from hold() until release(), a broken
// completion, or the end of the context.
struct ListPlace {
    // Valid once the place is granted. In blocking mode, so that an operation of io_uring waits for
    // data.
    int socket = -1;
    std::uint16_t sequence = 0;  // of the list's first message

    void* place = nullptr;  // the transport's
};

class DedicatedConnections {
  public:
    // The maximum of streams of one communicator that have dedicated connections.
    static constexpr std::uint32_t streams_max = 4;
    static constexpr std::uint64_t none_is_cleared = ~std::uint64_t{0} >> 1;

    virtual ~DedicatedConnections() = default;

    // Messages of so many bytes and more wait for their CTS; at least 1. The same on all ranks.
    virtual std::uint64_t cleared_bytes_min() const { return none_is_cleared; }

    // Whether the lane's stream has a dedicated connection to the lane's peer.
    virtual bool carries(const Lane& lane) const = 0;

    // Takes the next place in the lane's direction for a list of `messages` messages. done: it is
    // granted. pending: a completion with the token follows from the transport's poll(), when the
    // connection is up and no posted message is before the list. (Other lists before it do not
    // matter.) With a code of WEFT_BROKEN_* the place is gone. While a place is granted, the
    // transport does not touch that direction of the socket. For the CTSs of a lane the stream is
    // cts_stream_of() its stream. REQUIRES: carries(lane).
    virtual Posted hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                        Token token) = 0;

    // The list has moved all its messages.
    virtual void release(ListPlace& place) = 0;

    // The list cannot go on: its socket failed with this errno; 0: the other end has closed it;
    // EPROTO: the data violates the protocol. REQUIRES: none of its operations is pending in the
    // kernel. A completion with the place's token follows and says why it is broken; or a failure
    // notice of the peer, if that broke the group.
    virtual void fail(ListPlace& place, int error) = 0;

    // The kernel has not given back all operations on this socket, and may go on with them after
    // the context has ended: the socket is then shut down, but never closed.
    virtual void keep_open(int socket) = 0;
};

// The name of the connection with the CTSs for the messages of this stream.
inline StreamId cts_stream_of(StreamId stream) {
    return {stream.context(), stream.stream() + DedicatedConnections::streams_max};
}
// Of the name of a dedicated connection.
inline bool is_cts_stream(StreamId name) {
    return name.stream() >= DedicatedConnections::streams_max;
}

}  // namespace weft
