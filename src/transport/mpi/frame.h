// The messages of the MPI underneath: a frame each and, for the kinds `eager` and `part`, bytes of
// one message behind it. All ranks have the same byte order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::mpi {

enum class FrameKind : std::uint32_t {
    eager = 1,   // a message
    rts = 2,     // ready to send: a message waits for its receive
    cts = 3,     // clear to send: the receive is posted
    drop = 4,    // instead of a CTS: nobody will receive the message; its sender is done with it
    part = 5,    // of a message that has its CTS, in order
    credit = 6,  // eager messages have been received
};

struct Frame {
    FrameKind kind{};
    std::int32_t from = 0;       // the sender's rank
    std::uint32_t sequence = 0;  // counts the frames from this rank to that one
    std::uint32_t payload = 0;   // bytes behind the frame
    std::uint64_t stream = 0;    // of eager, rts
    std::uint64_t bytes = 0;     // of the message; of credit: how much
    std::uint64_t ticket = 0;    // of rts, cts, drop: what the sender calls the message
    std::uint64_t place = 0;     // of cts, part: what the receiver calls it
};
static_assert(sizeof(Frame) == 48);

// The payload of a frame, at most. Most MPIs send messages of this size eagerly.
inline constexpr std::size_t payload_max = 32 * 1024;

}  // namespace weft::mpi
