// The lanes to and from one peer: posts in order, and unexpected messages.
//
// Thread safety: none. Invariant: a receive lane has unexpected messages only when all its posts
// are matched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/chain.h"
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
    Completion result{};
    bool is_over = false;  // to be reported after those before it
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

using weft::Chain;

struct LaneQueue {
    std::uint64_t stream = 0;
    bool used = false;
    Chain<Post> posts;
    // Of receives only.
    Post* unmatched = nullptr;  // the first whose message has not come
    Chain<Unexpected> unexpected;

    bool idle() const { return posts.empty() && unexpected.empty(); }
};

}  // namespace weft::mpi
