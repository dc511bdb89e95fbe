// The active messages of the ucx transport: a frame each, as UCX's header, and for the kinds `eager`, `data`
// and `direct` the bytes of one message. All ranks have the same byte order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::ucx {

// UCX's number of the only kind of active message.
inline constexpr unsigned message_id = 0;

enum class FrameKind : std::uint32_t {
    eager = 1,    // a message
    rts = 2,      // ready to send: a message waits for its receive
    cts = 3,      // clear to send: the receive of that message is posted
    drop = 4,     // instead of a CTS: nobody will receive the message; its sender is done with it
    data = 5,     // the message of an RTS
    grant = 6,    // the receive of a large message is posted, and nothing has come for it
    direct = 7,   // a large message that needed no RTS, because of a grant
    credit = 8,   // eager messages have been received
    bye = 9,      // this rank sends nothing more
    thanks = 10,  // the answer to a bye
};

struct Frame {
    FrameKind kind{};
    std::int32_t from = 0;       // the sender's rank
    std::uint32_t sequence = 0;  // counts the frames from this rank to that one
    std::uint32_t reserved = 0;
    std::uint64_t job = 0;     // the same in all frames of a job
    std::uint64_t stream = 0;  // of eager, rts, grant, direct
    std::uint64_t bytes = 0;   // of the message; of credit: how much
    std::uint64_t ticket = 0;  // of rts, cts, drop, data: what the sender calls the message
};
static_assert(sizeof(Frame) == 48);

}  // namespace weft::ucx
