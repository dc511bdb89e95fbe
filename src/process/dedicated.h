// Which streams of a communicator get dedicated connections (transport/dedicated.h). Its members agree
// when it is made: by how many streams each can still serve, and whether it wants to. Each stream takes
// one connection of every pair of members; the first streams come first.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// What a rank tells the others. Another thread may be making a communicator at the same time: what is
// offered to one is not offered to the other.
struct DedicatedShare {
    std::uint32_t streams_left = 0;
    std::uint32_t is_wanted = 0;  // or 1
};

// How many streams of their communicator: as many as every member can, if any member wants them.
std::uint32_t agreed_streams(std::span<const DedicatedShare> members);

}  // namespace weft
