// The lanes from or to one peer: which post a message matches, and in which order posts are
// reported.
//
// A lane keeps its posts in posting order until they have been reported. Messages match them in
// that order too, but may finish in another (a small message overtakes the data of a large one); a
// post that finishes before an earlier one waits for it.
//
// Thread safety: none. Invariant: a lane with unexpected messages has no post that waits for a
// message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/chain.h"
#include "transport/lane_table.h"
#include "transport/shm/slots.h"
#include "transport/transport.h"

namespace weft::shm {

// How a post ended.
struct Outcome {
    weft_status code = WEFT_OK;
    std::int64_t sent_bytes = 0;
    std::int64_t expected_bytes = 0;
};

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read
    std::size_t bytes = 0;
    Token token{};
    std::uint64_t stream = 0;
    bool needs_cts = false;  // a send: not eager
    bool finished = false;
    Combination combination{};  // of a receive
    SlotId transfer{};          // of a send that needs a CTS
    Outcome outcome{};          // when finished
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

struct LaneQueue {
    std::uint64_t stream = 0;
    bool used = false;
    Chain<Post> posts;        // in posting order
    Post* waiting = nullptr;  // the first without a message
    Chain<Unexpected> unexpected;

    bool idle() const { return posts.empty() && unexpected.empty(); }
};

using Lanes = LaneTable<LaneQueue>;

}  // namespace weft::shm
