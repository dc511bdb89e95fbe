// Who carries out an operation: Weft with an engine, another build of it, an MPI, plain sockets, a
// timer. One file each; the table in players.cpp says which names they have.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "bench/collective/collective.h"
#include "bench/scenario/cell.h"

namespace weft::bench {

// Operations of one member of a contest, in one thread. Several may be pending only if their player
// says so (takes_several()).
class Player {
  public:
    virtual ~Player() = default;
    // Why it cannot take part; "": it can. The same on all ranks. Called once, before anything else.
    virtual std::string absence(const Collective&, const Job&) const { return ""; }
    virtual bool takes_several() const { return false; }
    // Around each of its repetitions, outside of what is timed. Collective.
    virtual void enter() {}
    virtual void leave() {}
    // Takes a new communicator, in which each call is the first of its kind. False: it cannot.
    // Collective.
    virtual bool renew() { return false; }
    // Starts `c` on the buffers of `k`. A case is the same object in every repetition.
    virtual void start(const Collective& c, Case& k) = 0;
    // True: all that was started is complete; a wait is then not needed.
    virtual bool test() = 0;
    virtual void wait() = 0;
    // The blocking call.
    virtual void call(const Collective& c, Case& k) {
        start(c, k);
        wait();
    }
    virtual void barrier() = 0;
    // How many messages came before their receive, in this process so far; NaN: nobody counts them.
    virtual double unexpected_messages() const { return std::nan(""); }
    // The communicator whose case is measured; only Weft's players have one of their own.
    virtual Job job(const Job& world) const { return world; }
};

// The player of a cell, or null with a sentence in `why`; both the same on all ranks. Collective.
std::unique_ptr<Player> make_player(const Cell& cell, const Job& world, std::string& why);

}  // namespace weft::bench
