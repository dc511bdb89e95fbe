// The TCP connections of UCX workers, which UCX does not show.
//
// UCX 1.13 leaves it to the kernel to end a connection that is cut, which takes a quarter of an
// hour while data is unacknowledged. UCX waits for its sockets in epolls behind a worker's
// descriptor; /proc lists their members.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/fifo.h"
#include "transport/common/dealing.h"
#include "transport/matching/message_parts.h"
#include "transport/silence.h"

// The ucx transport's state of one other rank, and of messages to and from it.
//
// Thread safety: none.
namespace weft {

class UcxTransport;
}

namespace weft::ucx {

struct Peer;
struct Transfer;

struct Post : message::PostPart<Post> {
    Peer* peer = nullptr;
    message::SendSlot<Peer>* slot = nullptr;  // that UCX still has; null: none
    // Of a large message, in one piece or several:
    Transfer* transfers = nullptr;  // reserved for pieces that have not begun
    std::uint32_t moving = 0;       // pieces that UCX has
    std::uint64_t left = 0;         // bytes of pieces that have not begun
    bool has_failed = false;        // one of them
};

// A transfer by UCX between users' buffers: a message, or a piece of one. It may outlive its post:
// UCX 1.13 does not give back all of them when their peer is dead.
struct Transfer {
    Transfer* next = nullptr;
    Transfer* previous = nullptr;
    Post* post = nullptr;  // null: it has been given up
    Peer* peer = nullptr;
    bool sends = false;
    message::Frame header{};  // UCX has it, too
};

// A rendezvous that a peer has begun, and that waits for its buffer: of a message, or of a piece of
// one.
struct Rendezvous {
    Rendezvous* next = nullptr;  // the next piece of the message
    Peer* peer = nullptr;
    ucp_worker_h worker = nullptr;
    void* descriptor =
        nullptr;  // UCX's; null: it has not come, another one has it, or it has been used
    std::uint64_t bytes = 0;
};

// A frame that overtook an earlier one of its sender, and waits for that.
struct FrameAside {
    FrameAside* next = nullptr;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    bool is_lost = false;  // there was no memory for its bytes
    Rendezvous rendezvous{};
    message::Frame frame{};
};

// A message that is cut, some pieces of which have not arrived. They are for its receive; or for
// the first piece, which is unexpected; or they are dropped.
struct Coming {
    std::uint64_t left = 0;  // bytes
    Post* post = nullptr;
    Rendezvous* first = nullptr;
    Rendezvous* next = nullptr;  // after that one: of the piece that comes next
};

struct Peer : message::PeerPart<Post>, PairLinks {
    UcxTransport* owner = nullptr;
    std::vector<std::string> addresses;  // of its workers; none: it is not reached by UCX
    Fd life;                          // readable when its process has ended; none: we cannot see it
    bool has_ended = false;           // its process, at the last look
    std::vector<ucp_ep_h> endpoints;  // by link; made when a post first names the peer
    Transfer* transfers = nullptr;    // of posts whose buffers UCX has
    Chain<FrameAside> aside;          // frames that came before their turn, in any order
    Coming coming;
    bool has_left = false;         // in good order
    bool has_thanked = false;      // for our bye
    bool is_gone = false;          // UCX says that nothing can come from it any more
    bool is_to_be_closed = false;  // its endpoints: one has failed, or they are not needed any more

    // UCX's reply to one would wait behind all bytes for the same rank.
    bool avoids_rendezvous = false;

    bool is_met() const { return !endpoints.empty(); }
    ucp_ep_h endpoint_for(std::uint64_t stream) const {
        return endpoints[links == 1 ? 0 : first_connection(StreamId::unpack(stream))];
    }
    std::uint32_t pieces_of(std::uint64_t stream, std::uint64_t bytes) const {
        const StreamId id = StreamId::unpack(stream);
        return cuts(id, bytes) ? links_of(id) : 1;
    }
};

}  // namespace weft::ucx

namespace weft::ucx {
class Connections {
  public:
    // `keeps_alive`: also sets how idle connections notice it.
    Connections(std::int64_t timeout_ns, bool keeps_alive)
        : timeout_ns_(timeout_ns), keeps_alive_(keeps_alive) {}

    // Something is expected from now on.
    void begin() {
        for (auto& [inode, connection] : known_) connection.silence = {};
    }
    // Ends those whose other end has been out of reach for the timeout. UCX finds them closed, and
    // reports their peers. Call it four times in each timeout while something is expected.
    void end_silent(std::span<const int> worker_descriptors, std::int64_t now_ns);

  private:
    struct Connection {
        Silence silence;
        std::int64_t seen_ns = 0;  // the last look
    };

    void look_into(int epoll, int depth, std::int64_t now_ns);
    void look_at(int socket, ino_t inode, std::int64_t now_ns);

    std::int64_t timeout_ns_;
    bool keeps_alive_;
    std::map<ino_t, Connection> known_;  // by the sockets' inodes
};

}  // namespace weft::ucx
