// Circulant graphs: in round k every rank talks to the ranks that are skip k before and behind it.
#pragma once

#include <vector>

#include "base/status.h"

namespace weft {

// As many skips as rounds, and the number of ranks: 1, ..., ranks, each half of the next, rounded
// up.
std::vector<Rank> circulant_skips(Rank ranks);

// What a rank of a round-optimal broadcast of many blocks receives and sends. Blocks are numbered
// as they leave the root. A phase has q rounds, as many as there are skips; in round k of a phase a
// rank receives from the rank that is skip k before it, and sends to the rank that is skip k behind
// it. These are the numbers for phase 0; in phase j they are j * q more. Negative ones stand for
// blocks that do not exist.
//
// In phase 0 a rank receives block `first`, and in its other rounds blocks -q, ..., -1, but not
// first - q. It sends only what it has received in an earlier round. The root sends blocks
// 0, ..., q - 1. Nobody sends to the root, whatever `send` says.
struct CirculantBlocks {
    int first = 0;
    std::vector<int> recv;  // by round; empty at the root
    std::vector<int> send;
};

// Of the rank at `distance` from the root, in O(log ranks) steps.
CirculantBlocks circulant_blocks(Rank distance, Rank ranks);

}  // namespace weft
