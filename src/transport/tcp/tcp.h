// The transport between nodes: lanes over TCP connections.
//
// A small message is sent eagerly; a credit bounds the receiver's unexpected messages. A large one
// needs a CTS. The receiver sends one for every large receive when it is posted, without waiting
// for an RTS, and in answer to an RTS. The k-th CTS on a lane is for its k-th message that needs
// one: lanes are first in, first out, so an earlier receive is posted whenever a later one is. A
// large message goes in parts; those of other lanes take turns with them.
//
// Connections are made when a post first names their peer, and used when both ends have proven that
// they know the job's key (handshake.h): meeting.cpp. A lane uses one of the connections that all
// streams share, or the dedicated connection of its stream: dedicated.cpp.
//
// Thread safety: none; the progress engine's lock covers every call. Only the destructor blocks: it
// waits until the peers' machines have what was sent.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/job_key.h"
#include "base/pool.h"
#include "transport/dedicated.h"
#include "transport/matching/contexts.h"
#include "transport/matching/reports.h"
#include "transport/tcp/peer.h"
#include "transport/tcp/settings.h"
#include "transport/transport.h"

namespace weft {

class TcpTransport final : public Transport, private DedicatedConnections {
  public:
    struct Parts {
        Rank rank = 0;
        JobKey key{};
        std::vector<tcp::Address> own;                 // where we listen, and what we call from
        std::vector<Fd> listeners;                     // of those
        std::vector<std::vector<tcp::Address>> peers;  // by rank; empty: not reached by TCP
        tcp::Settings settings;
    };

    struct Counters {
        std::uint64_t connections = 0;                            // that are up
        std::uint64_t calls = 0;                                  // tried
        std::array<std::uint64_t, tcp::refusal_kinds> refused{};  // callers, by why
        std::uint64_t too_slow = 0;          // callers that did not prove themselves in time
        std::uint64_t hung_up = 0;           // that ended the connection before they had
        std::uint64_t crowded_out = 0;       // that made room for later ones
        std::uint64_t superfluous = 0;       // that claim to be a peer whose call is not needed
        std::uint64_t unexpected_bytes = 0;  // at the moment
        std::uint64_t unexpected_bytes_max = 0;
    };

    // Besides listeners and connections: two epolls, a timer, and the reserve.
    static constexpr std::size_t own_descriptors = 4;

    static Result<std::unique_ptr<TcpTransport>> create(Parts parts);
    ~TcpTransport() override;

    // Connects to every peer now. Collective over all, and blocking.
    Status open_all(std::int64_t deadline_ns);
    // Closes all sockets, as the end of the process would: for a forked child, and for tests.
    // Nothing else may be called afterwards.
    void hang_up();
    const Counters& counters() const { return counters_; }
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
    Abilities abilities() const override;
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper) override { look_around_ = true; }
    void wake_peers() override { write_put_off(); }
    bool has_work() const override { return owing_ > 0 || reports_.has_kept() || is_meeting(); }
    void list_owed(std::vector<Rank>& peers) const override;
    void abandon(std::uint32_t context) override;
    void admit(std::uint32_t context) override { contexts_.admit(context); }
    void retire(std::uint32_t context) override;
    void keep_early(bool keep) override;
    DedicatedConnections* dedicated_connections() override { return this; }
    void dedicate(std::uint32_t context, std::uint32_t streams) override;

  private:
    // DedicatedConnections
    bool carries(const Lane& lane) const override;
    Posted hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                Token token) override;
    void release(ListPlace& place) override;
    void fail(ListPlace& place, int error) override;

    using Peer = tcp::Peer;
    using Link = tcp::Link;
    using SharedConnection = tcp::SharedConnection;
    using DedicatedConnection = tcp::DedicatedConnection;
    using Place = tcp::Place;
    using Wire = tcp::Wire;

    // So many streams of the context have dedicated connections.
    struct DedicatedStreams {
        std::uint32_t context;
        std::uint32_t streams;
    };

    static constexpr std::size_t staging_bytes = 64 * 1024;

    explicit TcpTransport(Parts parts);
    Status open_descriptors();

    // tcp.cpp
    Peer& peer_of(Rank rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        WEFT_ASSERT(!peer.addresses.empty());
        return peer;
    }
    SharedConnection& shared_of(Peer& peer, StreamId stream);
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
    template <class Visit>
    void for_each_link(Visit visit) {
        for_each_shared(visit);
        for_each_dedicated(visit);
    }
    void sleep_until_worthwhile(Wire& wire);
    void look_at_sockets();
    void handle_events();
    void on_event(tcp::Source& source, std::uint32_t events);
    void on_timer();
    void plan_timer(std::int64_t at_ns);
    bool is_meeting() const;
    bool is_expecting() const { return !expecting_.empty() || !holding_.empty(); }
    static bool is_needed(const Link& link);
    static bool owes(const Link& link);
    void look_for_silent_peers(std::int64_t now);
    void lose(Peer& peer, weft_status how);
    void part_from(Peer& peer);
    void break_posts(SharedConnection& shared);
    void forget_posts();
    void report_loss(Peer& peer);
    Posted refuse(Peer& peer, const Lane& lane, Token token);
    void expect(Link& link);
    void expect_less(Link& link);
    void look_at(Link& link);

    // meeting.cpp
    void need(Link& link);
    void call(Link& link);
    void call_later(Link& link, weft_status loss);
    void call_again(std::int64_t now);
    void accept_callers(tcp::Listener& listener);
    bool make_room_for_caller(std::int64_t since_ns = INT64_MAX);
    void drop_slow_callers(std::int64_t now);
    void connected(Wire& wire);
    void prove(Wire& wire);
    bool is_superfluous(const Wire& wire) const;
    void proven(Wire& wire);
    void take_up(Wire& wire, Link& link);
    Wire* add_wire(Fd socket);
    void fail(Wire& wire, int error);
    void close(Wire& wire);
    void listen_for(Wire& wire, std::uint32_t events);
    void watch_out(Wire& wire, bool out);
    void say_goodbye();
    bool hold_reserve();
    void stop_listening();
    void turn_away(Wire& wire, const Peer& peer, std::uint64_t connection);
    void refused_by(Wire& wire, const tcp::Frame& frame);

    // outbound.cpp
    bool may_send_eagerly(const SharedConnection& shared, std::uint64_t stream,
                          std::uint64_t bytes) const;
    void prepare_front(SharedConnection& shared, tcp::SendLane& lane);
    void control(SharedConnection& shared, tcp::FrameKind kind, std::uint64_t stream,
                 std::uint64_t bytes);
    void put_off(SharedConnection& shared);
    void write_put_off();
    void put_frame(SharedConnection& shared, tcp::Frame frame);
    void put_controls(SharedConnection& shared);
    bool begin_frame(SharedConnection& shared);
    void end_frame(SharedConnection& shared);
    void write(SharedConnection& shared);
    void go_on(SharedConnection& shared);
    void write_frames(SharedConnection& shared);
    void note_owing(Link& link);
    void take_cts(SharedConnection& shared, std::uint64_t stream);
    void abandon_sends(SharedConnection& shared, std::uint32_t context);

    // inbound.cpp
    Posted receive_unexpected(SharedConnection& shared, tcp::ReceiveLane& lane, MutBytes data,
                              Token token);
    void grant_cts(SharedConnection& shared, tcp::ReceiveLane& lane, tcp::Post& post);
    void send_cts(SharedConnection& shared, tcp::ReceiveLane& lane);
    void read(Wire& wire);
    void read_frames(Wire& wire);
    bool take_bytes(Wire& wire, Bytes bytes);
    bool take_frame(Wire& wire);
    bool take_payload_frame(Wire& wire);
    bool take_rts(SharedConnection& shared, const tcp::Frame& frame);
    void advance(Wire& wire, std::uint64_t bytes);
    void end_payload(Wire& wire);
    void end_message(SharedConnection& shared, tcp::ReceiveLane& lane);
    void turn_away(SharedConnection& shared, tcp::ReceiveLane& lane, std::uint64_t sent_bytes);
    void pay_credit(SharedConnection& shared, std::uint64_t credit);
    tcp::Unexpected* keep_unexpected(tcp::ReceiveLane& lane, const tcp::Frame& frame);
    static bool use_spare_cts(tcp::ReceiveLane& lane);
    bool make_room(tcp::Unexpected& message);
    Wire* wire_into(const tcp::Unexpected* message) const;
    void release(SharedConnection& shared, tcp::Unexpected* message);
    void abandon_receives(SharedConnection& shared, std::uint32_t context);
    void drop_unwanted_messages(SharedConnection& shared);

    // dedicated.cpp
    std::uint32_t dedicated_streams(std::uint32_t context) const;
    DedicatedConnection* dedicated_of(Peer& peer, StreamId stream);
    static DedicatedConnection* find_dedicated(const Peer& peer, StreamId stream);
    DedicatedConnection& dedicated_at(Peer& peer, StreamId stream);
    Posted send_on(DedicatedConnection& dedicated, Bytes data, Token token);
    Posted receive_on(DedicatedConnection& dedicated, MutBytes data, Token token);
    Place& add_place(DedicatedConnection& dedicated, bool sends, Token token,
                     std::uint32_t messages);
    void go_on(DedicatedConnection& dedicated);
    bool write(DedicatedConnection& dedicated, Place& place);
    void write_places(DedicatedConnection& dedicated);
    void grant(DedicatedConnection& dedicated, bool sends, const Place* quietly);
    void watch_places(DedicatedConnection& dedicated);
    static bool is_unsettled(const DedicatedConnection& dedicated);
    void settle(DedicatedConnection& dedicated);
    static bool is_readable(const DedicatedConnection& dedicated);
    static bool answer(Wire& wire, const tcp::Frame& frame);
    void read_welcome(Wire& wire);
    void read_places(Wire& wire);
    bool take_header(DedicatedConnection& dedicated, Wire& wire);
    void end_place(DedicatedConnection& dedicated, bool sends);
    void give_back_list(Place& place);
    void on_dedicated_event(Wire& wire, std::uint32_t events);
    void end(DedicatedConnection& dedicated, int error);
    void end_sends(DedicatedConnection& dedicated);
    void await_reason(DedicatedConnection& dedicated);
    void give_up_unexplained(std::int64_t now);
    void lose_dedicated(Peer& peer);
    void break_places(DedicatedConnection& dedicated);
    void drop(DedicatedConnection& dedicated);
    void part(DedicatedConnection& dedicated);
    bool is_parting(const Peer& peer, StreamId stream) const;
    void read_parting(Wire& wire);
    template <class Condition>
    void end_dedicated(Condition is_over, bool in_good_order);
    void take_back(std::uint32_t context, bool in_good_order);
    void drop_unwanted_dedicated();

    Rank rank_;
    JobKey key_;
    tcp::Settings settings_;
    std::vector<tcp::Address> own_;
    std::vector<Peer> peers_;  // by rank

    Reports reports_;
    std::uint32_t polls_ = 0;
    bool look_around_ = false;                   // at the next poll, at all sockets
    std::vector<SharedConnection*> put_off_;     // to be written at the end of this call
    std::vector<Link*> expecting_;               // with `expected` > 0
    std::vector<DedicatedConnection*> holding_;  // with places of lists
    std::vector<std::byte> staging_;             // read here when the destination is not known yet
    std::vector<std::unique_ptr<Wire>> wires_;
    std::vector<std::unique_ptr<Wire>> closed_;  // kept until the events at hand are handled
    std::size_t unproven_ = 0;                   // wires of callers that have not proven themselves
    int owing_ = 0;                              // links with something to write
    bool accepting_ = true;  // false: there was no descriptor for another caller
    int starved_ = 0;        // how often in a row, although there was no caller
    Fd reserve_;             // closed to accept a caller when there is no other descriptor

    Pool<tcp::Post> posts_;
    Pool<tcp::Place> places_;
    Pool<tcp::Unexpected> unexpected_;
    BlockPool blocks_;
    Contexts contexts_;
    std::vector<DedicatedStreams> dedicated_;

    std::vector<std::unique_ptr<tcp::Listener>> listeners_;
    tcp::Source timer_{tcp::Source::Kind::timer};
    Fd timer_fd_;
    std::int64_t timer_at_ns_ = 0;  // 0: not set
    Fd events_;                     // epoll: sockets and timer
    Fd thread_sleep_;               // epoll: events_, while the progress thread is to be woken
    bool thread_armed_ = false;
    bool hung_up_ = false;
    Counters counters_;
};

}  // namespace weft
