// The lanes from or to one peer.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "transport/matching/lane_table.h"
#include "transport/matching/matching_queue.h"
#include "transport/shm/slots.h"
#include "transport/transport.h"

namespace weft::shm {

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read
    std::size_t bytes = 0;
    Token token{};
    std::uint64_t stream = 0;
    bool needs_cts = false;  // a send: not eager
    bool is_over = false;
    Combination combination{};  // of a receive
    SlotId transfer{};          // of a send that needs a CTS
    Outcome outcome{};          // when it is over
};

// Ready to send: what an RTS says of a large message that waits at its sender.
struct Rts {
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;  // in the sender's memory
    std::uint64_t transfer = 0;
};

// A message that came before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;  // of `bytes` bytes; null: only its RTS came, or it is empty
    std::size_t bytes = 0;
    bool is_rts = false;      // it waits at its sender
    bool is_partial = false;  // it is being pushed
    Rts rts{};
};

using LaneQueue = MatchingQueue<Post, Unexpected>;
using Lanes = LaneTable<LaneQueue>;

}  // namespace weft::shm
