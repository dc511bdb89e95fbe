// The transport between nodes: lanes over TCP connections.
//
// Eager messages and rendezvous: matching/rendezvous.h. The k-th CTS on a lane is for its k-th
// message that needs one, early or not: lanes are first in, first out, so an earlier receive is
// posted whenever a later one is. Of the large messages of a lane one moves at a time; lanes take
// turns. The header before a part says where it belongs, and the part is read straight into the
// user's buffer.
//
// Where a pair of nodes has several links, pairs of ranks are striped across them
// (common/dealing.h), and a large message is cut into a piece for each (lanes.h).
//
// Connections are made when a post first names their peer, and used when both ends have proven that
// they know the job's key: connector.h. A lane uses one of the connections that all streams share,
// or the dedicated connection of its stream.
//
// Thread safety: none; the progress engine's lock covers every call. Only open_all() and the
// destructor block: that waits until the peers' machines have all sent data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/job_key.h"
#include "transport/common/dealing.h"
#include "transport/dedicated.h"
#include "transport/tcp/connector.h"
#include "transport/tcp/core.h"
#include "transport/tcp/dedicated_connection.h"
#include "transport/tcp/link.h"
#include "transport/tcp/settings.h"
#include "transport/tcp/shared_connection.h"
#include "transport/transport.h"

namespace weft {

class TcpTransport final : public Transport, private DedicatedConnections, private tcp::Core {
  public:
    struct Parts {
        Rank rank = 0;
        JobKey key{};
        std::vector<tcp::Address> own;                    // where we listen, and from which we call
        std::vector<Fd> listeners;                        // of those
        std::vector<std::vector<tcp::Address>> peers;     // by rank; empty: not reached by TCP
        std::vector<std::vector<tcp::Address>> others{};  // by rank; see tcp::Card
        std::vector<PlaceInJob> places;                   // by rank
        tcp::Settings settings;
    };

    using Counters = tcp::Counters;

    // Besides listeners and connections: two epolls, a timer, and the reserve.
    static constexpr std::size_t own_descriptors = 4;

    static Result<std::unique_ptr<TcpTransport>> create(Parts parts);
    ~TcpTransport() override;

    // Connects to every peer now. Collective over all, and blocking.
    Status open_all(std::int64_t deadline_ns);
    // Closes all sockets, as the end of the process would: for a forked child, and for tests.
    // Nothing else may be called afterwards.
    void hang_up();
    const Counters& counters() const { return Core::counters; }
    // Sockets, and whatever else the transport holds open.
    std::size_t descriptors() const;

    struct Extent {
        std::size_t ranks;        // that all are connected
        std::size_t connections;  // of a pair, shared
        std::size_t dedicated;    // of a pair, at most
        std::size_t streams;      // with operations at once
    };
    // An upper bound of usage() in such a job, without strangers.
    static Usage usage_max(const Extent& job);

    const char* name() const override { return "tcp"; }
    Usage usage() const override;
    std::string vain_call(Rank rank) const override;
    // At what addresses, and from where if that was chosen.
    std::string where_called(const tcp::Peer& peer) const;
    std::uint64_t unexpected_messages() const override { return unexpected.taken(); }
    Abilities abilities() const override {
        return {.can_sleep = true, .can_signal = true, .eager_bytes = settings.eager_threshold};
    }
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper) override { look_around_ = true; }
    bool wake_peers() override {
        write_put_off(moved_bytes_max);
        return false;
    }
    void signal_arrivals(int signal, int thread) override {
        connector_.signal_arrivals(signal, thread);
    }
    bool has_work() const override { return owing > 0 || reports.has_kept() || is_meeting(); }
    void list_owed(std::vector<Rank>& peers) const override;
    void cancel_context(std::uint64_t context) override;
    void open_context(std::uint64_t context) override { posts.open_context(context); }
    void close_context(std::uint64_t context) override;
    void buffer_unknown(bool keep) override;
    NextMessage next_on(const Lane& lane) override;
    std::uint64_t next_changes() const override { return unexpected.taken() + losses_; }
    void expect_from(Rank rank, int change) override;
    DedicatedConnections* dedicated_connections() override { return this; }
    void dedicate(std::uint64_t context, std::uint32_t streams) override;

  private:
    using Peer = tcp::Peer;
    using Link = tcp::Link;
    using SharedConnection = tcp::SharedConnection;
    using DedicatedConnection = tcp::DedicatedConnection;
    using Wire = tcp::Wire;

    // DedicatedConnections
    std::uint64_t cleared_bytes_min() const override { return Core::cleared_bytes_min(); }
    bool carries(const Lane& lane) const override;
    Posted hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                Token token) override;
    void release(ListPlace& place) override;
    void fail(ListPlace& place, int error) override;
    void keep_open(int socket) override;

    // tcp::Core
    void need(Link& link) override;
    void fail(Wire& wire, int error) override;
    void take_up(Wire& wire, Link& link) override;
    void refused_by(Wire& wire, const tcp::Frame& frame) override;
    void close(Wire& wire) override { connector_.close(wire); }
    void lose(Peer& peer, weft_status how) override;
    void part_from(Peer& peer) override;
    Link& link_at(Peer& peer, std::uint64_t name) override;
    void plan_timer(std::int64_t at_ns) override;

    // The number of the context's streams that have dedicated connections.
    struct DedicatedStreams {
        std::uint64_t context;
        std::uint32_t streams;
    };

    explicit TcpTransport(Parts parts);
    Status open_descriptors();

    Core& core() { return *this; }
    Peer& peer_of(Rank rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        WEFT_ASSERT(!peer.addresses.empty());
        return peer;
    }
    SharedConnection& shared_at(Peer& peer, std::uint32_t number);
    template <class Visit>
    void for_each_shared(Visit visit) {
        for (Peer& peer : peers_) {
            for (auto& shared : peer.shared) {
                if (shared) visit(*shared);
            }
        }
    }
    template <class Visit>
    void for_each_dedicated(Visit visit) {
        for (Peer& peer : peers_) {
            for (auto& dedicated : peer.dedicated) visit(*dedicated);
        }
    }

    // posting.cpp
    Posted send_pieces(Peer& peer, const Lane& lane, Bytes data, Token token);
    Posted refuse(Peer& peer, const Lane& lane, Token token);

    // tcp.cpp
    void look_at_sockets();
    void handle_events();
    void on_event(tcp::Source& source, std::uint32_t events);
    void on_timer();
    void look_for_silent_peers(std::int64_t now);
    bool is_meeting() const;
    void write_put_off(std::uint64_t bytes);

    // ends.cpp
    void fail_before_use(Link& link, int error);
    void await_end(Peer& peer);
    void give_up_ending(std::int64_t now);
    void forget_posts();
    std::optional<std::uint64_t> context_left();
    void report_loss(Peer& peer);
    void read_parting(Wire& wire);
    void say_goodbye();

    // tcp.cpp: dedicated connections
    std::uint32_t dedicated_streams(std::uint64_t context) const;
    DedicatedConnection* dedicated_of(Peer& peer, StreamId stream);
    template <class Condition>
    void end_dedicated(Condition is_over, bool in_good_order);
    void take_back(std::uint64_t context, bool in_good_order);
    void drop_unwanted_dedicated();

    Rank rank_;
    std::vector<Peer> peers_;  // by rank
    tcp::Connector connector_;
    std::vector<DedicatedStreams> dedicated_;

    std::uint64_t losses_ = 0;  // of peers
    std::uint32_t polls_ = 0;
    bool look_around_ = false;  // at the next poll, at all sockets
    tcp::Source timer_{tcp::Source::Kind::timer};
    Fd timer_fd_;
    Fd events_;        // epoll: sockets and timer
    Fd thread_sleep_;  // epoll: events_, while the progress thread is to be woken
    bool thread_armed_ = false;
    bool hung_up_ = false;
};

}  // namespace weft
