// What the ranks say to each other in the messages of the carrier: a frame each, and behind it, of the
// kinds `eager` and `part`, bytes of one message. All ranks have one byte order, as those of a carrier
// that gathers bytes do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::mpi {

enum class FrameKind : std::uint32_t {
    eager = 1,     // a message
    announce = 2,  // a message that waits for its receive
    go = 3,        // the receive of an announced message is here
    drop = 4,      // an announced message will not be taken; its sender is done with it
    part = 5,      // of an announced message, in order
    credit = 6,    // eager messages have been received
};

struct Frame {
    FrameKind kind{};
    std::int32_t from = 0;       // the sender's rank
    std::uint32_t sequence = 0;  // counts the frames from this rank to that one
    std::uint32_t payload = 0;   // bytes behind the frame
    std::uint64_t stream = 0;    // of eager, announce
    std::uint64_t bytes = 0;     // of the message; of credit: so much
    std::uint64_t ticket = 0;    // of announce, go, drop: what the sender calls the message
    std::uint64_t place = 0;     // of go, part: what the receiver calls it
};
static_assert(sizeof(Frame) == 48);

// What a frame may carry. Most MPIs send so much at once, without waiting for the receiver.
inline constexpr std::size_t payload_max = 32 * 1024;

}  // namespace weft::mpi
