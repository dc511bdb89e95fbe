// What the transport keeps about one other rank.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fifo.h"
#include "transport/matching/credit.h"
#include "transport/matching/lane_table.h"
#include "transport/mpi/lanes.h"

namespace weft::mpi {

struct Peer {
    Rank rank = -1;
    LaneTable<LaneQueue> sends;
    LaneTable<LaneQueue> receives;

    Fifo<Post*> waiting;              // sends of which nothing has been sent yet, in order
    std::vector<Post*> awaiting_cts;  // sends whose RTS has been sent
    Fifo<Post*> granted;              // sends with a CTS: they move in parts, taking turns
    std::vector<Post*> incoming;      // receives whose CTS has been sent
    std::uint64_t tickets = 0;        // given to sends and receives so far
    std::uint32_t next_sent = 0;      // sequence of the next frame to it,
    std::uint32_t next_taken = 0;     // and from it
    std::uint32_t large_slots = 0;    // that the MPI sends to it from
    std::uint32_t slots = 0;          // of any size

    Credit credit{0};
    bool lost = false;
    weft_status loss = WEFT_BROKEN_TRANSPORT;

    bool owes() const { return !waiting.empty() || !granted.empty(); }
};

}  // namespace weft::mpi
