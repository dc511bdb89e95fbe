// The lanes to and from one peer on one connection.
//
// Over several links, a large message is cut into pieces, one for each link: each is a post on a
// connection of its own, and the message is reported when all of them have ended. The first piece
// is sent on the connection that also has the lane's small messages, always with an RTS, which says
// how long the whole message is. When that has met its receive, the receiver posts the others: so
// each piece meets its own message, whatever the program posts. One that comes earlier is kept.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "transport/dedicated.h"
#include "transport/matching/matching_queue.h"

namespace weft::tcp {

class DedicatedConnection;

// A send or receive that has not been reported yet, or a piece of one.
struct Post {
    Post* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read; null: arrivals are dropped
    std::uint64_t bytes = 0;
    std::uint64_t moved = 0;
    std::uint64_t message_bytes = 0;  // of the whole message; of another piece: its own
    Token token{};
    bool cts_sent = false;  // of a receive: for its message
    bool is_over = false;   // all of the message, and it waits to be reported
    Outcome outcome{};

    // The pieces of a message; the first stands for it.
    Post* first = nullptr;
    Post* next_piece = nullptr;
    bool has_ended = false;
    std::uint32_t pieces_left = 1;  // of the first: that have not ended
    bool is_settled = false;        // of the first: reported or forgotten; of others: dropped

    bool is_first() const { return first == this; }
    // Not for another piece of a message, nor for one that is dropped.
    bool stands_for_message() const { return is_first() && !is_settled; }
};

// An unexpected message: at least its first bytes arrived before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;         // bytes that have arrived
    std::uint64_t message_bytes = 0;  // of the whole message, if this is a piece
    std::uint64_t credit = 0;         // to be given back when it is received
    bool is_rts = false;              // it waits at its sender; none of its bytes has arrived

    // All of this piece has arrived;
    bool is_whole() const { return !is_rts && offset == bytes; }
    // and it is all of the message.
    bool is_complete() const { return is_whole() && bytes == message_bytes; }
};

using LaneQueue = MatchingQueue<Post, Unexpected>;

// `waiting` is the first post that is not wholly written.
struct SendLane : LaneQueue {
    // The state of that one.
    enum class Front : std::uint8_t { none, awaiting_cts, cleared };

    Front front = Front::none;
    bool front_is_eager = false;  // when cleared
    std::uint32_t early_cts = 0;  // for messages that have not been posted

    bool idle() const { return LaneQueue::idle() && early_cts == 0; }
};

struct ReceiveLane : LaneQueue {
    // The message that comes in parts, of which the last has not begun.
    struct Coming {
        bool is_any = false;
        std::uint64_t left = 0;         // bytes in parts that have not begun
        Post* post = nullptr;           // its receive; or
        Unexpected* message = nullptr;  // it is unexpected; or neither: it is dropped
    };

    std::uint32_t spare_cts = 0;  // CTSs sent, and not used by the message they were for
    Coming coming;

    bool idle() const { return LaneQueue::idle() && spare_cts == 0 && !coming.is_any; }
};

// One entry in the queue of a dedicated connection's direction: a message of the user's, or all
// messages of a list.
struct Place {
    Place* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read
    std::uint64_t bytes = 0;
    std::uint64_t moved = 0;  // of a send with its header, of a receive without
    Token token{};
    std::uint16_t sequence = 0;
    std::uint64_t cts = 0;  // of a send: the number of the CTS that it needs; 0: it needs none
    // Of a list:
    ListPlace* list = nullptr;  // null: a message
    bool is_granted = false;
    bool is_given_back = false;  // done, while an earlier one is not
    bool has_failed = false;
    bool sends = false;
    DedicatedConnection* dedicated = nullptr;
};

}  // namespace weft::tcp
