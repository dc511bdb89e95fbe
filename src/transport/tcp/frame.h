// What travels on a connection: frames, each a 16-byte header (a MessageHeader, with more kinds)
// and, for two kinds, payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/dedicated.h"

namespace weft::tcp {

enum class FrameKind : std::uint8_t {
    welcome = 1,                     // the first frame of who was called: the connection is in use
    eager = MessageHeader::message,  // sent without a CTS; payload: `bytes`
    part,    // a piece of a message that has a CTS; `bytes` of it were left before this piece
    rts,     // ready to send: a message of `bytes` waits at its sender
    cts,     // clear to send: the receiver is ready for the lane's next message that needs one
    credit,  // `bytes` of eager messages have been used up; of no lane
    bye,     // the sender leaves in good order; of no lane
    full,    // in place of `welcome`: who was called has no descriptor for the connection, and
             // hangs up; `bytes`: 1 if it has given the caller up
};

// A part has as much payload as is left, at most this.
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
        if (kind == FrameKind::part) return bytes < part_bytes ? bytes : part_bytes;
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

}  // namespace weft::tcp
