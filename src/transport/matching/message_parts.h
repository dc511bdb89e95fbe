// The parts of a MessageTransport: frames, posts, lanes, peers, and the slots that it sends
// from.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/fifo.h"
#include "base/lane_table.h"
#include "transport/matching/matching_queue.h"
#include "transport/matching/rendezvous.h"
#include "transport/transport.h"

namespace weft::message {

enum class FrameKind : std::uint32_t {
    eager = 1,       // a message
    rts = 2,         // ready to send: a message waits for its receive
    cts = 3,         // clear to send: the receive of that message is posted
    drop = 4,        // instead of a CTS: the message will not be received; its send is complete
    data = 5,        // the message of an RTS, or a part of it (its first piece)
    credit = 6,      // eager messages have been received
    early_cts = 7,   // the receive of a large message is posted, and nothing has arrived for it
    early_data = 8,  // a large message (or its first part) that has an early CTS, and so no RTS
    bye = 9,         // this rank sends nothing more
    thanks = 10,     // the answer to a bye
    piece = 11,      // the next piece of the message whose first one came last, over another link
};

// Stands before the bytes of one message, or of none. All ranks have the same byte order.
struct Frame {
    FrameKind kind{};
    std::int32_t from = 0;       // the sender's rank
    std::uint32_t sequence = 0;  // counts the frames from this rank to that one
    std::uint32_t payload = 0;   // bytes behind the frame; of a transfer by the library: 0
    std::uint64_t job = 0;       // the same in all frames of a job
    std::uint64_t stream = 0;    // of eager, rts, early_cts, data, early_data
    std::uint64_t bytes = 0;     // of the message; of credit: how much
    std::uint64_t ticket = 0;    // of rts, cts, drop, data: the sender's number of the message
};
static_assert(sizeof(Frame) == 48);

// A send or receive that has not been reported yet; a transport's own begins with this.
template <class Post>
struct PostPart {
    Post* next = nullptr;
    std::uint64_t stream = 0;
    std::byte* data = nullptr;  // of a send: only read
    std::uint64_t bytes = 0;
    std::uint64_t ticket = 0;  // the sender's number of a large message
    Token token{};
    bool is_moving = false;     // the library reads or writes `data`
    bool is_forgotten = false;  // its context was cancelled while it moved: not to be reported
    bool is_over = false;
    Outcome outcome{};  // when it is over
};

// An unexpected message: it arrived before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t credit = 0;  // to be given back when it is received
    std::uint64_t ticket = 0;
    std::uint64_t moved = 0;     // bytes that are here, of a message that comes in parts
    bool is_rts = false;         // it waits at its sender
    void* descriptor = nullptr;  // of a message that waits for its buffer: the transport's
};

// The content of a frame: bytes, or the transport's descriptor of a message that waits for its
// buffer.
struct FrameContent {
    const void* data = nullptr;
    std::size_t bytes = 0;
    void* descriptor = nullptr;
};

template <class Post>
using LaneQueue = MatchingQueue<Post, Unexpected>;

// Early CTSs are hints: a lane that is forgotten with some only costs an RTS.
template <class Post>
struct SendLane : LaneQueue<Post> {
    std::uint32_t early_cts = 0;  // for messages that have not been posted
};

// The state of one other rank; a transport's own begins with this.
template <class Post>
struct PeerPart {
    using PostType = Post;

    Rank rank = -1;
    LaneTable<SendLane<Post>> sends;
    LaneTable<LaneQueue<Post>> receives;

    Fifo<Post*> waiting;               // sends of which nothing has been sent yet, in order
    std::vector<Post*> awaiting_cts;   // sends whose RTS has been sent
    Fifo<Post*> cleared;               // sends whose bytes may move
    std::vector<Post*> awaiting_data;  // receives that have met their RTS, and wait for the bytes
    std::uint32_t forgotten = 0;       // posts that move and were cancelled
    std::uint64_t tickets = 0;         // given to sends so far
    std::uint32_t next_sent = 0;       // sequence of the next frame to it,
    std::uint32_t next_taken = 0;      // and from it
    std::uint32_t large_slots = 0;     // that the library sends to it from
    std::uint32_t slots = 0;           // of any size

    Credit credit{0};
    bool lost = false;
    weft_status loss = WEFT_BROKEN_TRANSPORT;
    bool is_counted = false;  // as a peer with something to send to

    bool owes() const { return !waiting.empty() || !cleared.empty(); }
};

// Bytes that the library sends from: a frame and its payload.
template <class Peer>
struct SendSlot {
    SendSlot* next = nullptr;
    std::unique_ptr<std::byte[]> bytes;
    bool is_large = false;
    Peer* peer = nullptr;
    typename Peer::PostType* post = nullptr;  // ends when the library is done with the slot
};

// Small and large slots: as many as needed, if there is memory. A few small ones are spare.
template <class Peer>
class SlotStore {
  public:
    static constexpr std::size_t small_bytes = 512;

    SlotStore(std::size_t large_bytes, std::size_t spares)
        : large_bytes_(large_bytes), spares_(spares) {
        while (free_[0].count <= spares_) make(/*is_large=*/false);
    }

    static bool is_large(std::size_t bytes) { return bytes > small_bytes; }
    std::size_t large_bytes() const { return large_bytes_; }

    // There is one to take. `is_spare`: it may be one of the spare ones. False: out of memory.
    bool reserve(bool is_large, bool is_spare) {
        Free& free = free_[is_large];
        if (free.count > (is_large ? 0 : spares_)) return true;
        try {
            make(is_large);
            return true;
        } catch (const std::bad_alloc&) {
            return is_spare && free.count > 0;
        }
    }
    // REQUIRES: reserve().
    SendSlot<Peer>* take(bool is_large) {
        Free& free = free_[is_large];
        WEFT_ASSERT(free.count > 0);
        --free.count;
        return std::exchange(free.first, free.first->next);
    }
    void give_back(SendSlot<Peer>* slot) {
        Free& free = free_[slot->is_large];
        slot->next = std::exchange(free.first, slot);
        ++free.count;
    }

    std::size_t held_bytes() const { return all_.size() * large_bytes_; }  // at most

  private:
    struct Free {
        SendSlot<Peer>* first = nullptr;
        std::size_t count = 0;
    };

    void make(bool is_large) {
        auto slot = std::make_unique<SendSlot<Peer>>();
        slot->bytes = std::make_unique<std::byte[]>(is_large ? large_bytes_ : small_bytes);
        slot->is_large = is_large;
        all_.push_back(std::move(slot));
        give_back(all_.back().get());
    }

    std::size_t large_bytes_;
    std::size_t spares_;
    std::vector<std::unique_ptr<SendSlot<Peer>>> all_;
    Free free_[2];  // small, large
};

}  // namespace weft::message
