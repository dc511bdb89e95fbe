// How many streams of a communicator get dedicated connections (transport/dedicated.h): the first
// ones. Its members agree when it is made: each says how many streams it can still serve, and
// whether it wants any. A stream takes one connection per pair of members.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// What a rank tells the others. If two threads make communicators at the same time, nothing is
// offered to both.
struct DedicatedShare {
    std::uint32_t streams_left = 0;
    std::uint32_t is_wanted = 0;  // 0 or 1
};

// As many streams as every member can serve, if any member wants them.
std::uint32_t agreed_streams(std::span<const DedicatedShare> members);

}  // namespace weft
