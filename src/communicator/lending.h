// Which streams of a communicator get connections of their own (transport/strand.h): its members agree
// when it is made, from what each of them has left to lend and whether it wants them lent. Each stream
// takes one connection of every pair of members; the first streams come first.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// What a rank tells the others. Another communicator may be made at the same time, by another thread:
// what is offered to one is not offered to the other.
struct Lending {
    std::uint32_t streams_left = 0;
    std::uint32_t is_wanted = 0;  // or 1
};

// How many streams of their communicator: as many as every member can, if any member wants them.
std::uint32_t agreed_streams(std::span<const Lending> members);

}  // namespace weft
