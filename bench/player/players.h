// What makes the players; a line each in the table in players.cpp.
#pragma once

#include "bench/player/player.h"

namespace weft::bench {

// Null: `why` says why not, the same on all ranks. Collective.
using MakePlayer = std::unique_ptr<Player>(const Cell& cell, const Job& world, std::string& why);

// Weft's messages, cut and passed on along the chain of ranks by hand: a broadcast.
MakePlayer make_by_hand;
// Moves its bytes by a timer in real time, and hides a known share of it: to test measurements.
MakePlayer make_timer;
// Plain sockets between two ranks; "sockets:blocking" and "sockets:spinning" wait otherwise than by
// sleeping.
MakePlayer make_sockets;
// A plain thread of each rank's, on one core: "copy thread:1".
MakePlayer make_copy_thread;
// The MPI whose launcher has started the job: "mpi"; "mpi:hand" and "mpi:thread", pipelines by hand;
// "thread:mpi", the MPI's blocking call in a thread; "libnbc" and "nbc:weft", LibNBC's interface by
// LibNBC and by Weft's nbc.h;
// "preload", what a program calls under `weft preload`; "stub", under a library that takes nothing.
MakePlayer make_mpi;

// Whoever calls, in a thread that makes the blocking call.
std::unique_ptr<Player> in_thread(std::unique_ptr<Player> caller);

}  // namespace weft::bench
