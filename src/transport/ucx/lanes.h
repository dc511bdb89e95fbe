// The lanes to and from one peer.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "transport/matching/matching_queue.h"
#include "transport/transport.h"
#include "transport/ucx/frame.h"

namespace weft::ucx {

struct Peer;
struct Transfer;

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::uint64_t stream = 0;
    std::byte* data = nullptr;  // of a send: only read
    std::uint64_t bytes = 0;
    std::uint64_t ticket = 0;  // the sender's number of a message that had an RTS
    Token token{};
    Peer* peer = nullptr;
    Transfer* transfer = nullptr;  // of a large message: reserved, or with UCX
    bool is_moving = false;        // UCX reads or writes `data`
    bool is_forgotten = false;     // its context was abandoned while it moved: not to be reported
    bool is_over = false;
    Outcome outcome{};  // when it is over
};

// A transfer by UCX between users' buffers. It may outlive its post: UCX 1.13 does not give back all of them
// when their peer is dead.
struct Transfer {
    Transfer* next = nullptr;
    Transfer* previous = nullptr;
    Post* post = nullptr;  // null: it has been given up
    Peer* peer = nullptr;
    bool sends = false;
    Frame header{};  // UCX has it, too
};

// A message that came before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t credit = 0;  // to be given back when it is received
    std::uint64_t ticket = 0;
    bool is_rts = false;         // it waits at its sender
    void* descriptor = nullptr;  // UCX's, of a rendezvous that waits for its buffer
};

// A frame that overtook an earlier one of its sender, and waits for that.
struct Early {
    Early* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    void* descriptor = nullptr;
    Frame frame{};
};

using LaneQueue = MatchingQueue<Post, Unexpected>;

// A grant is a hint: a lane that is forgotten with some only costs an RTS.
struct SendLane : LaneQueue {
    std::uint32_t grants = 0;
};

}  // namespace weft::ucx
