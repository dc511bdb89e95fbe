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

}  // namespace weft::bench
