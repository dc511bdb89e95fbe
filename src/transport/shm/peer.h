// Everything the transport keeps about one other rank of its node.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/fd.h"
#include "base/fifo.h"
#include "transport/shm/copy.h"
#include "transport/shm/lanes.h"
#include "transport/shm/ring.h"
#include "transport/shm/segment.h"

namespace weft::shm {

// How a rank of the node is reached.
struct PeerParts {
    Rank rank = -1;
    std::size_t index = 0;  // its number among the ranks of the node
    std::shared_ptr<Segment> segment;
    Doorbells doorbells;
    Fd life;        // readable when the process has ended; none: deaths go unseen
    pid_t pid = 0;  // 0: its memory cannot be read
};

// A record about the transfer of a large message.
struct Control {
    RecordKind kind = RecordKind::none;
    SlotId about{};  // the addressee's transfer
    SlotId own{};    // of a CTS: the receiver's transfer
};

// A message that the peer pushes: where its next part goes.
struct Pushed {
    std::uint64_t stream = 0;
    Post* post = nullptr;           // its receive; or
    Unexpected* message = nullptr;  // it is unexpected; or neither: its parts are dropped
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

struct Peer {
    // Used by every message and every poll.
    RingReader in;
    RingWriter out;
    std::atomic<std::uint32_t>* armed = nullptr;
    bool to_wake = false;              // if it sleeps: it has something new
    bool to_wake_on_demand = false;    // ... that wakes its thread even without a demand
    std::uint32_t armed_seen = 0;      // when we last looked, and did not wake it
    std::size_t eager_threshold = 0;   // bytes; 0 while it is far behind
    std::size_t unexpected_bytes = 0;  // of its messages
    std::size_t part_bytes = 0;        // of a large message, at most, in one record
    std::size_t window_bytes = 0;      // of large messages under way; the rest is for others
    std::size_t sends_pending = 0;
    bool lost = false;      // dead or gone: nothing can be sent, nothing more will come
    bool has_work = false;  // one of the four queues below is not empty
    Lanes receives;
    Lanes sends;

    Pushed pushed;
    Fifo<Control> controls;  // records there was no room for
    Fifo<Post*> waiting;     // sends there was no room for, in posting order
    Fifo<SlotId> cleared;    // large sends that have their CTS, first come first served
    Fifo<SlotId> pulls;      // large receives by vm_readv, likewise
    CopyChoices copies_in{has_streaming_stores ? 3u : 2u};  // into its ring
    CopyChoices copies_out{2};                              // out of the ring from it

    bool has_left = false;   // it has finalized
    bool is_ending = false;  // it has ended, but not all that it has written is taken
    bool loss_reported = false;
    bool can_pull = false;
    int expected = 0;  // receives from any source that its messages may be for
    PeerParts parts;

    // Nothing is queued and no earlier send is pending, so that a send may complete at once.
    bool is_clear() const { return sends_pending == 0 && !lost && controls.empty(); }
};

}  // namespace weft::shm
