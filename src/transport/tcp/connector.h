// Setting connections up: calling a peer, being called, and when a connection is in use.
//
// A rank that needs a peer calls it (connects); the peer may call at the same time. The caller may
// send when the called rank has accepted the connection with a `welcome`. Until then the called
// rank may hang up at any time, and the caller calls again, a bounded number of times. Of two calls
// that cross, the one of the lower rank is kept: that rank hangs up on the other. If both were
// accepted, each rank sends only on the one that it has accepted.
//
// Callers that do not authenticate in time are dropped; so are the oldest of them when there are
// many, or when descriptors run short: strangers do not keep peers out for long. Nothing that a
// caller sends has an effect before it is authenticated.
//
// A rank keeps one descriptor in reserve for callers. When there is no other, it accepts a caller
// with that one and answers a peer with `full`. So every peer gets an answer, and two
// ranks whose calls have taken all their descriptors hang up and try again. A connection for which
// either end has no descriptor is given up after some tries.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/job_key.h"
#include "transport/tcp/core.h"
#include "transport/tcp/link.h"

namespace weft::tcp {

class Connector {
  public:
    // `own`: the addresses where this rank listens, and from which it calls. `peers`: by rank.
    Connector(Core& core, Rank rank, const JobKey& key, std::vector<Address> own,
              std::vector<Fd> listeners, std::vector<Peer>& peers);

    // Arrivals on any socket, also later ones, send this signal to that thread; 0: no more.
    void signal_arrivals(int signal, int thread);

    // Watches the listeners, in this epoll.
    Status open(int epoll);
    void hang_up();

    void call(Link& link);
    // A call has failed; after many the peer is lost.
    void call_later(Link& link, weft_status loss);
    void on_caller(Listener& listener);
    // A wire that is connecting, or in its handshake, can go on.
    void connected(Wire& wire);
    void prove(Wire& wire);
    void close(Wire& wire);
    void on_timer(std::int64_t now);
    // Wires that were closed while events were handled.
    void free_closed() { closed_.clear(); }
    // A call of a peer with several addresses has failed: the next one is called, until the peer's
    // time-out has passed. Returns the error that counts; nothing: another call is planned.
    std::optional<int> call_elsewhere(Link& link, int error);
    // The link is going to end.
    void forget(const Link& link);

    const std::vector<std::unique_ptr<Wire>>& wires() const { return wires_; }
    // Visits all wires, of which the visit may close some.
    template <class Visit>
    void for_each_wire(Visit visit) {
        for (std::size_t i = wires_.size(); i-- > 0;) {
            if (i < wires_.size()) visit(*wires_[i]);
        }
    }
    std::size_t listeners() const { return listeners_.size(); }
    const std::vector<Address>& own() const { return own_; }

  private:
    Status watch_listeners();
    void call_again(std::int64_t now);
    bool make_room_for_caller(std::int64_t since_ns = INT64_MAX);
    void drop_slow_callers(std::int64_t now);
    bool is_superfluous(const Wire& wire) const;
    bool is_parting(const Peer& peer, StreamId stream) const;
    void proven(Wire& wire);
    Link* link_for(Peer& peer, std::uint64_t name);
    Wire* add_wire(Fd socket);
    void apply_signal(int socket) const;
    bool hold_reserve();
    void stop_listening();
    void turn_away(Wire& wire, const Peer& peer, std::uint64_t connection);
    static bool answer(Wire& wire, const Frame& frame);

    Core& core_;
    Rank rank_;
    JobKey key_;
    std::vector<Address> own_;
    std::vector<Peer>& peers_;
    int epoll_ = -1;
    int signal_ = 0;  // for arrivals
    int signalled_thread_ = 0;
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::vector<std::unique_ptr<Wire>> wires_;
    std::vector<std::unique_ptr<Wire>> closed_;  // kept until the events at hand are handled
    std::size_t unproven_ = 0;                   // wires of callers that have not proven themselves
    bool accepting_ = true;  // false: there was no descriptor for another caller
    int starved_ = 0;        // how often in a row, although there was no caller
    Fd reserve_;             // closed to accept a caller when there is no other descriptor
};

// Null: there is none of this name.
Link* find_link(const Peer& peer, std::uint64_t name);
// Visits all links. The visit may lose peers.
void for_each_link(std::vector<Peer>& peers, const std::function<void(Link&)>& visit);

}  // namespace weft::tcp
