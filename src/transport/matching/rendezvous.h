// Eager messages and rendezvous: how a message gets from its send to its receive, the same over
// every transport, and the words for it. Each transport's header says what it does otherwise.
//
// An eager message is sent at once. It is smaller than the eager threshold, and the sender has
// credit for it. Any other message moves by rendezvous, once its receive is posted:
//
//      sender                            receiver
//      waiting                           waiting for a message
//         |  ------------- RTS ------------->  |
//      awaiting_cts                      (unexpected, until the receive is posted)
//         |  <------------ CTS --------------  |
//      cleared                           awaiting_data
//         |  -------- data, in parts ------->  |
//      over                              over
//
// RTS: ready to send, with the length of the message. CTS: clear to send. A post that is over is
// reported when those before it on its lane have been (matching_queue.h). A part is what one frame
// or record carries; where a message is cut over several links, a piece is what one link carries.
//
// Early CTS. When a large receive is posted and no message has come for it, the receiver sends the
// CTS unasked. A sender that has an early CTS when it comes to a large message sends the bytes
// without an RTS, and saves a round trip. An RTS that has crossed an early CTS is answered by it.
// Which message meets which receive is decided by the order of the lane, never by an early CTS: it
// may have been meant for another receive. So data may be unexpected, too, and is kept.
//   ucx, mpi  a hint. RTS, CTS and data carry the sender's number of the message (ticket).
//   tcp       a header has no room for a ticket: the k-th CTS of a lane is for its k-th message
//             that needs one, and both ends count those that are left over.
//   shm       none. Medium messages are pushed instead, if they fit the ring.
//
// Unexpected messages are here, wholly or in part, or their RTS is, before their receive is posted.
// They are kept if their context is open, or may be opened soon (contexts.h). If there is no memory
// for one, its context has lost a message (PostStore::lose_message).
//
// Credit bounds the eager ones among them. Of tcp, ucx and mpi: Credit below. shm needs no frames
// for it: the receiver stores in the ring how many bytes it keeps.
//
// Drop. A receiver that does not want a message whose RTS has come (it does not fit its receive, or
// its context is closed or cancelled) says so, because its sender waits; the send is complete.
//   ucx, mpi  a drop.   shm  a `finished`, which also follows a message that it has fetched.
//   tcp       a CTS; the bytes are dropped as they come. Otherwise both ends would count unlike.
//
// Cancelling a context forgets its posts in any state, and gives their buffers back. A CTS that
// comes later finds no post. The receiver drops data on its arrival, and what it has kept.
//   tcp       a frame that has begun is completed, from a copy of its rest; no more parts follow.
//   ucx       a transfer that has begun is waited for: UCX cannot cancel it.
//   mpi       the MPI sends from slots only, which hold copies.
//   shm       a CTS, earlier or later, is answered by `revoked`, which ends the receiver's post.
//
// A failure notice is a message of context 0. It is always eager, whatever the credit: its receive
// is posted, and it must precede the cancellations that it explains.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/matching/contexts.h"
#include "transport/transport.h"

namespace weft {

inline bool is_notice(std::uint64_t stream) { return context_of(stream) == 0; }

// Flow control that bounds one peer's unexpected messages: the sender spends credit for each eager
// message, and the receiver returns it when the message has met its receive.
class Credit {
  public:
    // In a job of `ranks` ranks: a fixed amount over all peers, within limits for each.
    static constexpr std::uint64_t max_among(std::size_t ranks) {
        constexpr std::uint64_t of_all = 64 << 20;
        return std::clamp<std::uint64_t>(of_all / ranks, 64 << 10, 1 << 20);
    }
    // The cost of an eager message.
    static constexpr std::uint64_t cost_of(std::uint64_t bytes) { return bytes + 64; }

    explicit Credit(std::uint64_t max) : max_(max) {}

    // The sender's side.
    bool covers(std::uint64_t bytes) const { return used_ + cost_of(bytes) <= max_; }
    void spend(std::uint64_t bytes) { used_ += cost_of(bytes); }
    void regain(std::uint64_t credit) { used_ -= std::min(used_, credit); }

    // The receiver's side: returns credit to the peer, in quarters of the maximum. `send(credit)`
    // sends a frame; false: there is no memory for it, and later credit goes with this.
    template <class Send>
    void give_back(std::uint64_t credit, Send send) {
        owed_ += credit;
        if (owed_ < max_ / 4) return;
        const std::uint64_t due = std::exchange(owed_, 0);
        if (!send(due)) owed_ += due;
    }

  private:
    std::uint64_t max_;
    std::uint64_t used_ = 0;  // for our messages, not given back yet
    std::uint64_t owed_ = 0;  // for the peer's, to be given back
};

// Whether a message that is sent now is eager.
inline bool is_eager(std::uint64_t stream, std::uint64_t bytes, std::size_t eager_threshold,
                     const Credit& credit) {
    return is_notice(stream) || (bytes < eager_threshold && credit.covers(bytes));
}

// Takes the unexpected messages of contexts that are not wanted any more out of their lanes.
// `drop(lane, message)` frees a message, and sends a drop if its sender waits for an answer.
template <class Lanes, class Drop>
void drop_unwanted(Lanes& lanes, const Contexts& contexts, Drop drop) {
    lanes.for_each([&](auto& lane) {
        if (contexts.wants(context_of(lane.stream))) return;
        while (!lane.unexpected.empty()) drop(lane, lane.unexpected.take_first());
    });
}

}  // namespace weft
