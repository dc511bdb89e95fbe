// The lanes to and from one peer on one connection: strictly first in, first out.
//
// Thread safety: none. Invariant: a lane has posts or unexpected messages, never both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/chain.h"
#include "transport/transport.h"

namespace weft::tcp {

// A send or receive that has not been reported yet.
struct Post {
    Post* next = nullptr;
    std::byte* data = nullptr;  // of a send: only read; of a ghost: nowhere
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;  // moved so far
    Token token{};
    bool has_cts = false;  // of a receive: a CTS has been sent for it
    // A receive that was reported as broken: its message, of `bytes`, is still to be dropped.
    bool is_ghost = false;
};

// A message of which at least the first bytes came before its receive was posted.
struct Unexpected {
    Unexpected* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;  // bytes that have come
    std::uint64_t credit = 0;  // to be given back when it is received
    bool is_rts = false;       // it waits at its sender; none of its bytes has come
};

using weft::Chain;

struct SendLane {
    // What happens to the first post.
    enum class Front : std::uint8_t { none, waiting, ready };

    std::uint64_t stream = 0;
    bool used = false;
    Front front = Front::none;
    bool front_is_eager = false;  // when ready
    std::uint32_t early_cts = 0;  // CTSs for messages that have not been posted
    Chain<Post> posts;

    bool idle() const { return posts.empty() && early_cts == 0; }
};

struct ReceiveLane {
    std::uint64_t stream = 0;
    bool used = false;
    Chain<Post> posts;
    Chain<Unexpected> unexpected;
    std::uint32_t spare_cts = 0;  // CTSs sent, and not used by the message they were granted to

    bool idle() const { return posts.empty() && unexpected.empty() && spare_cts == 0; }
};

}  // namespace weft::tcp
