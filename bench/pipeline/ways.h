// Ways to broadcast from rank 0 along the chain of ranks 0, 1, 2, ... while every rank computes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/plain/sockets.h"

namespace weft::bench {

// One rank's part, with the receive buffer of a case. Used again and again.
class ChainBcast {
  public:
    virtual ~ChainBcast() = default;
    virtual void start() = 0;
    // Whether this rank's part has ended. Called after a start until it has.
    virtual bool query() = 0;
    // The computations and queries are inside of `loop`.
    virtual void compute(const std::function<void()>& loop) { loop(); }
    // Start and loop are inside of `body`.
    virtual void surround(const std::function<void()>& body) { body(); }
};

// Weft's collective, on the communicator of the case.
std::unique_ptr<ChainBcast> bcast_of_weft(Case& c);
// Pipelining by hand: all receives are started first; a query asks for the first segment that has not come, and once it
// has, starts its send. Weft's messages, each an operation of its own; or those of an MPI.
std::unique_ptr<ChainBcast> bcast_by_hand(Case& c, std::size_t segment_bytes);
std::unique_ptr<ChainBcast> bcast_by_hand(Case& c, std::size_t segment_bytes, const Rival& rival);
// Over a socket between two ranks: a query sends or receives as much as the kernel takes or has.
std::unique_ptr<ChainBcast> bcast_over_sockets(Case& c, PlainSockets& sockets);
// A thread of the program's own receives a segment and sends the last one, round by round, and waits in MPI_Waitany.
std::unique_ptr<ChainBcast> bcast_by_thread(Case& c, std::size_t segment_bytes, const Rival& rival);
// An MPI's collective.
std::unique_ptr<ChainBcast> bcast_of_rival(Case& c, const Rival& rival);

}  // namespace weft::bench
