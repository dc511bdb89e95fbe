// The lanes to and from one peer.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "transport/matching/matching_queue.h"
#include "transport/transport.h"

namespace weft::mpi {

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::uint64_t stream = 0;
    std::byte* data = nullptr;  // of a send: only read
    std::uint64_t bytes = 0;
    std::uint64_t moved = 0;
    std::uint64_t ticket = 0;  // this end's number of a message that moves in parts,
    std::uint64_t place = 0;   // and the other end's
    Token token{};
    bool is_over = false;
    Outcome outcome{};  // when it is over
};

// A message that came before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t credit = 0;  // to be given back when it is received
    std::uint64_t ticket = 0;
    bool is_rts = false;  // it waits at its sender
};

using LaneQueue = MatchingQueue<Post, Unexpected>;

}  // namespace weft::mpi
