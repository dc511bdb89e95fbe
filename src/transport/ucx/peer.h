// What the transport keeps about one other rank.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/fifo.h"
#include "transport/matching/credit.h"
#include "transport/matching/lane_table.h"
#include "transport/ucx/lanes.h"

namespace weft {
class UcxTransport;
}

namespace weft::ucx {

struct Peer {
    UcxTransport* owner = nullptr;
    Rank rank = -1;
    std::string address;          // of its worker; empty: it is not reached by UCX
    ucp_ep_h endpoint = nullptr;  // made when a post first names the peer
    LaneTable<SendLane> sends;
    LaneTable<LaneQueue> receives;

    Fifo<Post*> waiting;              // sends of which nothing has been sent yet, in order
    std::vector<Post*> awaiting_cts;  // sends whose RTS has been sent
    Fifo<Post*> granted;              // sends whose bytes may move
    std::vector<Post*> announced;     // receives that have met their RTS, and wait for the bytes
    Transfer* transfers = nullptr;    // of posts whose buffers UCX has,
    std::uint32_t forgotten = 0;      // and of these, abandoned ones
    std::uint64_t tickets = 0;        // given to sends so far
    std::uint32_t next_sent = 0;      // sequence of the next frame to it,
    std::uint32_t next_taken = 0;     // and from it
    Chain<Early> early;               // frames that came before their turn, in any order
    std::uint32_t large_slots = 0;    // that UCX sends to it from
    std::uint32_t slots = 0;          // of any size

    Credit credit{0};
    bool lost = false;
    bool has_left = false;     // in good order
    bool has_thanked = false;  // for our bye
    weft_status loss = WEFT_BROKEN_TRANSPORT;
    bool is_gone = false;          // UCX says that nothing can come from it any more
    bool is_to_be_closed = false;  // the endpoint: it has failed, or is not needed any more

    bool is_counted = false;  // as a peer that is owed something

    bool owes() const { return !waiting.empty() || !granted.empty(); }
};

}  // namespace weft::ucx
