// What travels on a connection: frames, each a 16-byte header and, for two kinds, payload.
//
//   byte  0  8  the lane's stream: communicator and order within it
//         8  8  bits 0-43 bytes, 44-59 sequence, 60-63 kind
//
// Numbers have the byte order of the machine; all ranks of a job are of one kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::tcp {

enum class FrameKind : std::uint8_t {
    welcome = 1,  // the first frame of who was called: the connection is in use
    eager,        // a message sent without a CTS; payload: `bytes`
    part,         // a piece of a message that has a CTS; `bytes` of it were left before this piece
    rts,          // ready to send: a message of `bytes` waits at its sender
    cts,          // clear to send: the receiver is ready for the lane's next message that needs one
    credit,       // `bytes` of eager messages have been used up; of no lane
    bye,          // the sender leaves in good order; of no lane
    full,         // in place of `welcome`: who was called has no descriptor for the connection, and
                  // hangs up; `bytes`: 1 if it has given the caller up
};

// A part has as much payload as is left, at most this.
inline constexpr std::uint64_t part_bytes = 128 * 1024;

struct Frame {
    static constexpr std::size_t header_bytes = 16;
    static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1;
    using Header = std::array<std::byte, header_bytes>;

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
        const std::uint64_t words[2] = {
            stream, bytes | std::uint64_t{sequence} << 44 | static_cast<std::uint64_t>(kind) << 60};
        Header header;
        std::memcpy(header.data(), words, sizeof words);
        return header;
    }
    static Frame decoded(const Header& header) {
        std::uint64_t words[2];
        std::memcpy(words, header.data(), sizeof words);
        return {static_cast<FrameKind>(words[1] >> 60), static_cast<std::uint16_t>(words[1] >> 44),
                words[1] & bytes_max, words[0]};
    }
};

}  // namespace weft::tcp
