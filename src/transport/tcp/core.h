// The shared state of this rank's connections, and their interface to the owning transport.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pool.h"
#include "tcp/handshake.h"
#include "transport/matching/contexts.h"
#include "transport/matching/matching_queue.h"
#include "transport/matching/post_store.h"
#include "transport/matching/reports.h"
#include "transport/tcp/lanes.h"
#include "transport/tcp/link.h"
#include "transport/tcp/settings.h"
#include "transport/transport.h"

namespace weft::tcp {

struct Counters {
    std::uint64_t connections = 0;                       // that are up
    std::uint64_t calls = 0;                             // tried
    std::array<std::uint64_t, refusal_kinds> refused{};  // callers, by why
    std::uint64_t too_slow = 0;     // callers that did not prove themselves in time
    std::uint64_t hung_up = 0;      // that ended the connection before they had
    std::uint64_t crowded_out = 0;  // that made room for later ones
    std::uint64_t superfluous = 0;  // that claim to be a peer whose call is not needed
};

class Core {
  public:
    static constexpr std::size_t staging_bytes = 64 * 1024;
    // The bytes read and written in one poll, over all connections; and in one post.
    static constexpr std::uint64_t moved_bytes_max = 1 << 20;

    Core(const Settings& s, std::size_t ranks);

    const Settings settings;
    const std::uint64_t credit_max;  // of each peer

    Reports reports;
    Contexts contexts;
    Counters counters;
    PostStore<Post> posts;
    Pool<Place> places;
    UnexpectedStore<Unexpected> unexpected;
    std::vector<std::byte> staging;  // read here when the destination is not known yet
    // Room for the rest of a cancelled message's frame, for the connection without other memory.
    std::vector<std::byte> spare;
    std::uint64_t may_move = 0;  // bytes, until the next poll or post

    std::vector<Link*> expecting;               // with `expected` > 0
    std::vector<DedicatedConnection*> holding;  // with places of lists
    std::vector<SharedConnection*> put_off;     // to be written at the end of this call
    int owing = 0;                              // links with something to write

    // The pieces, from number `begin` on, of a message that begins at `data`, in a chain.
    Post* take_pieces(std::uint64_t stream, std::byte* data, std::uint64_t message_bytes,
                      std::uint32_t begin, std::uint32_t links);
    void give_back_pieces(Post* pieces);
    Place* take_place();
    // There is one link more: from now on there is room to expect it.
    void count_link();

    // A post of the user waits for this connection.
    void expect(Link& link);
    void expect_less(Link& link);
    // After the connection's pending writes have changed.
    void note_owing(Link& link);
    // From now on the connection's peer must not be silent.
    void look_at(Link& link);
    void count_moved(std::uint64_t bytes) { may_move -= bytes < may_move ? bytes : may_move; }

    // See DedicatedConnections::cleared_bytes_min().
    std::uint64_t cleared_bytes_min() const {
        if (!settings.dedicated_rendezvous) return DedicatedConnections::none_is_cleared;
        return std::max<std::uint64_t>(settings.eager_threshold, 1);
    }

    // There is something to send to the peer or to receive from it: the connection must come up.
    virtual void need(Link& link) = 0;
    // The connection has ended, or cannot be set up. `error` 0: the other end closed it.
    virtual void fail(Wire& wire, int error) = 0;
    // The called rank has accepted the connection.
    virtual void take_up(Wire& wire, Link& link) = 0;
    // ... or has no descriptor for it.
    virtual void refused_by(Wire& wire, const Frame& frame) = 0;
    virtual void close(Wire& wire) = 0;
    // The peer is dead, or out of reach.
    virtual void lose(Peer& peer, weft_status how) = 0;
    // The peer has said on one of its connections that it sends nothing more.
    virtual void part_from(Peer& peer) = 0;
    // Of this name (see Link::name); made if there is none.
    virtual Link& link_at(Peer& peer, std::uint64_t name) = 0;
    virtual void plan_timer(std::int64_t at_ns) = 0;

  protected:
    ~Core() = default;

    std::size_t links_ = 0;
    std::int64_t timer_at_ns_ = 0;  // 0: not set
};

// As a reason for the loss of a peer (transport/transport.h).
inline constexpr weft_status no_descriptor = WEFT_BROKEN_MEMORY;
// Of an errno: a resource is short in this process or machine, and may be freed by others.
bool is_shortage(int error);
// ... or the other end has closed the connection, as a process that ends does.
bool is_gone(int error);

}  // namespace weft::tcp
