// What the ucx transport keeps about one other rank, and about messages to and from it.
//
// Thread safety: none.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/chain.h"
#include "base/fd.h"
#include "transport/matching/message_parts.h"

namespace weft {
class UcxTransport;
}

namespace weft::ucx {

struct Peer;
struct Transfer;

struct Post : message::PostPart<Post> {
    Peer* peer = nullptr;
    Transfer* transfer = nullptr;  // of a large message: reserved, or with UCX
};

// A transfer by UCX between users' buffers. It may outlive its post: UCX 1.13 does not give back all of them
// when their peer is dead.
struct Transfer {
    Transfer* next = nullptr;
    Transfer* previous = nullptr;
    Post* post = nullptr;  // null: it has been given up
    Peer* peer = nullptr;
    bool sends = false;
    message::Frame header{};  // UCX has it, too
};

// A frame that overtook an earlier one of its sender, and waits for that.
struct Early {
    Early* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    void* descriptor = nullptr;
    message::Frame frame{};
};

struct Peer : message::PeerPart<Post> {
    UcxTransport* owner = nullptr;
    std::string address;            // of its worker; empty: it is not reached by UCX
    Fd life;                        // readable when its process has ended; none: we cannot see it
    bool has_ended = false;         // its process, at the last look
    ucp_ep_h endpoint = nullptr;    // made when a post first names the peer
    Transfer* transfers = nullptr;  // of posts whose buffers UCX has
    Chain<Early> early;             // frames that came before their turn, in any order
    bool has_left = false;          // in good order
    bool has_thanked = false;       // for our bye
    bool is_gone = false;           // UCX says that nothing can come from it any more
    bool is_to_be_closed = false;   // the endpoint: it has failed, or is not needed any more
};

}  // namespace weft::ucx
