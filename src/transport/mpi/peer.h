// What the mpi transport keeps about one other rank, and about messages to and from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/matching/message_parts.h"

namespace weft::mpi {

// The bytes behind a frame, at most. Most MPIs send messages of this size eagerly.
inline constexpr std::size_t payload_max = 32 * 1024;

struct Post : message::PostPart<Post> {
    std::uint64_t moved = 0;  // bytes, in parts
};

struct Peer : message::PeerPart<Post> {};

}  // namespace weft::mpi
