#include "transport/tcp/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>

#include "base/clock.h"
#include "transport/silence.h"
#include "transport/tcp/dedicated_connection.h"
#include "transport/tcp/shared_connection.h"

namespace weft::tcp {
namespace {

constexpr std::int64_t caller_patience_ns = 3'000'000'000;
// No caller is dropped earlier to make room for the next one.
constexpr std::int64_t hearing_ns = 50'000'000;
constexpr std::size_t callers_max = 128;  // that have not proven themselves
constexpr int accepts_max = 32;           // at one look
constexpr std::int64_t call_delay_min_ns = 2'000'000;
// For one of several addresses.
constexpr std::int64_t address_patience_ns = 1'000'000'000;
constexpr int calls_max = 30;                     // that fail; they take about 12 s
constexpr int calls_without_descriptor_max = 16;  // they take about 5 s
constexpr int starved_max = 100;                  // takes about 5 s

// The other end's machine has answered.
bool has_connected(const Wire& wire) {
    if (wire.state != Wire::State::connecting) return true;
    tcp_info info{};
    socklen_t size = sizeof info;
    return getsockopt(wire.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state != TCP_SYN_SENT;
}

}  // namespace

Connector::Connector(Core& core, Rank rank, const JobKey& key, std::vector<Address> own,
                     std::vector<Fd> listeners, std::vector<Peer>& peers)
    : core_(core), rank_(rank), key_(key), own_(std::move(own)), peers_(peers) {
    for (Fd& listener : listeners)
        listeners_.push_back(std::make_unique<Listener>(std::move(listener)));
}

Status Connector::open(int epoll) {
    epoll_ = epoll;
    if (!hold_reserve() || !Fd(fcntl(epoll_, F_DUPFD_CLOEXEC, Fd::first)))
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for a connection: %s", strerror(errno));
    return watch_listeners();
}

Status Connector::watch_listeners() {
    for (const auto& listener : listeners_) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = static_cast<Source*>(listener.get());
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, listener->fd.get(), &event) != 0)
            return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", strerror(errno));
    }
    return ok;
}

void Connector::signal_arrivals(int signal, int thread) {
    signal_ = signal;
    signalled_thread_ = thread;
    for (const auto& wire : wires_) apply_signal(wire->fd.get());
    for (const auto& listener : listeners_) apply_signal(listener->fd.get());
}

// (If the kernel has no memory for it, arrivals on this socket send no signal.)
void Connector::apply_signal(int socket) const {
    const f_owner_ex owner{F_OWNER_TID, signalled_thread_};
    if (signal_ != 0) {
        (void)fcntl(socket, F_SETOWN_EX, &owner);
        (void)fcntl(socket, F_SETSIG, signal_);
    }
    const int flags = fcntl(socket, F_GETFL);
    (void)fcntl(socket, F_SETFL, signal_ != 0 ? flags | O_ASYNC : flags & ~O_ASYNC);
}

void Connector::hang_up() {
    for (const auto& wire : wires_) wire->close();
    for (const auto& listener : listeners_) listener->fd = {};
}

void Connector::call(Link& link) {
    ++core_.counters.calls;
    link.call_at_ns = 0;
    const std::uint32_t turn = link.is_dedicated() ? link.peer.turn_of(link.stream())
                                                   : static_cast<std::uint32_t>(link.name);
    Peer& peer = link.peer;
    const Address& to = peer.address(turn);
    link.way = peer.way;
    if (peer.called_since_ns == 0) peer.called_since_ns = now_ns();
    Fd socket;
    // (The reserve is not for calls.)
    while (!hold_reserve() ||
           !(socket = Fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)))) {
        if (!is_shortage(errno)) return core_.lose(link.peer, WEFT_BROKEN_TRANSPORT);
        // Not a caller that is just being heard.
        if (!make_room_for_caller(now_ns() - hearing_ns)) return call_later(link, no_descriptor);
    }
    Address from = own_[turn % own_.size()];
    from.set_port(0);
    if (from.family() == to.family() && !core_.settings.by_route) {
        set_option(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        // If this fails, the kernel chooses the address.
        (void)bind(socket.get(), from.get(), from.length);
    }
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    const std::int64_t peer_timeout_ns = core_.settings.peer_timeout_ns;
    const std::int64_t patience_ns =
        peer.has_choice() ? std::min(address_patience_ns, peer_timeout_ns) : peer_timeout_ns;
    set_option(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT,
               static_cast<int>(patience_ns / 1'000'000));
    const bool fails = connect(socket.get(), to.get(), to.length) != 0 && errno != EINPROGRESS;
    const int error = errno;
    Wire* wire = add_wire(std::move(socket));
    if (wire == nullptr) return call_later(link, WEFT_BROKEN_MEMORY);
    wire->link = &link;
    wire->is_caller = true;
    link.calling = wire;
    wire->watch_out(true);
    if (fails) core_.fail(*wire, error);
}

void Connector::call_later(Link& link, weft_status loss) {
    if (link.peer.lost || link.peer.ending_since_ns != 0) return;
    const int most = loss == no_descriptor ? calls_without_descriptor_max : calls_max;
    if (++link.calls_failed >= most) {
        if (link.is_dedicated() && loss == no_descriptor)
            return static_cast<DedicatedConnection&>(link).go_without();
        return core_.lose(link.peer, loss);
    }
    const int doublings = std::min(link.calls_failed, 16);
    link.call_at_ns =
        now_ns() + std::min(call_delay_min_ns << doublings, core_.settings.call_delay_max_ns);
    core_.plan_timer(link.call_at_ns);
}

std::optional<int> Connector::call_elsewhere(Link& link, int error) {
    Peer& peer = link.peer;
    // The peer has answered, but hangs up, or this rank could not call.
    const bool is_answer = is_gone(error) || (is_shortage(error) && error != EADDRNOTAVAIL);
    if (!peer.has_choice() || is_answer) return error;
    const std::int64_t now = now_ns();
    // (Another link may have found out the same.)
    if (link.way == peer.way) {
        if (peer.way == 0) peer.has_refused = error == ECONNREFUSED;
        peer.way = (peer.way + 1) % (1 + peer.others.size());
        if (peer.way == 0) {
            // None answers, and where the peer should be, no process listens any more.
            if (peer.has_refused) return ECONNREFUSED;
            ++peer.rounds;
        }
    }
    if (now - peer.called_since_ns > core_.settings.peer_timeout_ns) return error;
    link.call_at_ns = now + std::min(call_delay_min_ns << std::min(peer.rounds, 16),
                                     core_.settings.call_delay_max_ns);
    core_.plan_timer(link.call_at_ns);
    return std::nullopt;
}

void Connector::call_again(std::int64_t now) {
    for_each_link(peers_, [&](Link& link) {
        if (link.call_at_ns == 0) return;
        if (link.call_at_ns > now) return core_.plan_timer(link.call_at_ns);
        link.call_at_ns = 0;
        core_.need(link);
    });
}

// The kernel has connected our call, or has failed to.
void Connector::connected(Wire& wire) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(wire.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return core_.fail(wire, error);
    // From here on the timer watches whether the peer answers: this option would also end a
    // connection whose peer computes and does not read.
    set_option(wire.fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    keep_alive(wire.fd.get(), core_.settings.peer_timeout_ns);
    wire.state = Wire::State::proving;
    wire.handshake = Handshake::caller(key_, {rank_, wire.link->peer.rank, wire.link->name});
    prove(wire);
}

void Connector::on_caller(Listener& listener) {
    for (int i = 0; i < accepts_max; ++i) {
        Fd socket(accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            if (!is_shortage(errno)) {
                (void)hold_reserve();
                return;
            }
            if (reserve_) {
                reserve_ = {};
                continue;
            }
            if (make_room_for_caller(now_ns() - hearing_ns)) continue;
            // Further callers wait until one of these is proven or refused.
            starved_ += unproven_ == 0;
            accepting_ = false;
            for (const auto& l : listeners_) epoll_ctl(epoll_, EPOLL_CTL_DEL, l->fd.get(), nullptr);
            return core_.plan_timer(now_ns() + hearing_ns);
        }
        if (unproven_ == callers_max) (void)make_room_for_caller();
        Wire* wire = add_wire(std::move(socket));
        if (wire == nullptr) return;
        ++unproven_;
        wire->state = Wire::State::proving;
        wire->handshake = Handshake::listener(key_, rank_, static_cast<Rank>(peers_.size()));
        wire->deadline_ns = now_ns() + caller_patience_ns;
        core_.plan_timer(wire->deadline_ns);
        prove(*wire);
    }
}

void Connector::on_timer(std::int64_t now) {
    drop_slow_callers(now);
    call_again(now);
    if (starved_ > starved_max) {
        stop_listening();
    } else if (!accepting_) {
        accepting_ = true;
        (void)watch_listeners();
    }
}

// Drops the oldest caller that has not proven itself. False: none called before `since_ns`.
bool Connector::make_room_for_caller(std::int64_t since_ns) {
    for (const auto& wire : wires_) {
        if (wire->deadline_ns == 0) continue;
        if (wire->deadline_ns - caller_patience_ns > since_ns) return false;
        ++core_.counters.crowded_out;
        close(*wire);
        return true;
    }
    return false;
}

void Connector::drop_slow_callers(std::int64_t now) {
    for (std::size_t i = 0; i < wires_.size() && unproven_ > 0;) {
        Wire& wire = *wires_[i];
        if (wire.deadline_ns == 0 || wire.deadline_ns > now) {
            if (wire.deadline_ns != 0) core_.plan_timer(wire.deadline_ns);
            ++i;
            continue;
        }
        // Not slow, if it is this rank that has not polled for that time.
        prove(wire);
        if (wire.state != Wire::State::proving) continue;
        ++core_.counters.too_slow;
        close(wire);
    }
}

// Continues the handshake as far as the socket allows.
void Connector::prove(Wire& wire) {
    Handshake& handshake = *wire.handshake;
    while (handshake.state() == Handshake::State::going) {
        ssize_t n;
        if (const Bytes out = handshake.to_send(); !out.empty()) {
            n = send(wire.fd.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) handshake.sent(static_cast<std::size_t>(n));
            if (n < 0 && errno == EAGAIN) return wire.watch_out(true);
        } else {
            const MutBytes in = handshake.wanted();
            n = recv(wire.fd.get(), in.data(), in.size(), MSG_DONTWAIT);
            if (n > 0) handshake.received(static_cast<std::size_t>(n));
            if (n < 0 && errno == EAGAIN) return wire.watch_out(false);
            if (n > 0 && is_superfluous(wire)) {
                ++core_.counters.superfluous;
                return close(wire);
            }
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return core_.fail(wire, n < 0 ? errno : 0);
    }
    if (handshake.state() == Handshake::State::proven) return proven(wire);
    const auto refusal = static_cast<std::size_t>(handshake.refusal());
    // Our call did not reach the peer: another program has its port now.
    if (wire.is_caller) return core_.fail(wire, ECONNREFUSED);
    close(wire);
    ++core_.counters.refused[refusal];
}

// The caller has named its rank: whether we hang up on it even if it proves that.
bool Connector::is_superfluous(const Wire& wire) const {
    const Hello* hello = wire.handshake->hello();
    if (wire.is_caller || hello == nullptr) return false;
    const Peer& peer = peers_[static_cast<std::size_t>(hello->from)];
    if (peer.lost) return peer.loss != no_descriptor;  // it is told so
    if (peer.addresses.empty()) return true;
    const StreamId stream = StreamId::unpack(hello->connection);
    if (stream.context() == 0 && hello->connection >= peer.connections) return true;
    if (stream.context() != 0) {
        // (Half of the names are of connections with CTSs.)
        if (stream.stream() >= 2 * DedicatedConnections::streams_max ||
            !core_.contexts.wants(stream.context()) || is_parting(peer, stream))
            return true;
    }
    const Link* link = find_link(peer, hello->connection);
    if (link == nullptr) return false;
    if (link->out != nullptr) return true;
    return rank_ < peer.rank && link->calling != nullptr && has_connected(*link->calling);
}

// Whether this end has parted from a connection of that name and the other has not. A call for it
// then crossed ours, and comes too late.
bool Connector::is_parting(const Peer& peer, StreamId stream) const {
    return std::ranges::any_of(wires_, [&](const auto& wire) {
        return wire->state == Wire::State::parting && wire->parts == &peer &&
               wire->parted == stream.packed();
    });
}

void Connector::proven(Wire& wire) {
    if (wire.is_caller) {
        wire.link->peer.way = wire.link->way;
        wire.link->peer.was_reached = true;
        wire.handshake.reset();
        wire.state = Wire::State::unanswered;
        wire.watch_out(false);
        return wire.link->read(wire);
    }
    const Hello hello = *wire.handshake->hello();
    wire.handshake.reset();
    --unproven_;
    wire.deadline_ns = 0;
    Peer& peer = peers_[static_cast<std::size_t>(hello.from)];
    if (!hold_reserve()) (void)make_room_for_caller(now_ns() - hearing_ns);
    if (peer.lost || !hold_reserve()) return turn_away(wire, peer, hello.connection);
    set_option(wire.fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    keep_alive(wire.fd.get(), core_.settings.peer_timeout_ns);
    // This one wins over our own call, if there is one; if the peer has accepted ours already, both
    // are used.
    Link* const made = link_for(peer, hello.connection);
    if (made == nullptr) return close(wire);  // it calls again
    Link& link = *made;
    wire.link = &link;
    if (!link.is_dedicated()) {
        static_cast<SharedConnection&>(link).welcome();
    } else if (!answer(wire, {FrameKind::welcome, 0, 0, link.name})) {
        // The caller is gone.
        close(wire);
        if (link.is_needed()) core_.need(link);
        return;
    }
    core_.take_up(wire, link);
}

// With room for its `welcome`. Null: there is no memory for it.
Link* Connector::link_for(Peer& peer, std::uint64_t name) {
    try {
        Link& link = core_.link_at(peer, name);
        if (!link.is_dedicated() && !static_cast<SharedConnection&>(link).has_room_for_control())
            return nullptr;
        return &link;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// The first bytes of the called end.
bool Connector::answer(Wire& wire, const Frame& frame) {
    const Frame::Header header = frame.encoded();
    return send(wire.fd.get(), header.data(), header.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(header.size());
}

// Whether there is a descriptor to accept the next caller with.
bool Connector::hold_reserve() {
    if (reserve_) return true;
    reserve_ = Fd(fcntl(epoll_, F_DUPFD_CLOEXEC, Fd::first));
    if (reserve_) starved_ = 0;
    return static_cast<bool>(reserve_);
}

// Something else in this process has taken the reserve, so callers cannot be accepted. They must
// not wait for an answer.
void Connector::stop_listening() {
    for (const auto& listener : listeners_) listener->fd = {};
}

// Tells the peer that there is no descriptor for the connection that it has called for.
void Connector::turn_away(Wire& wire, const Peer& peer, std::uint64_t connection) {
    (void)answer(wire, {FrameKind::full, 0, peer.lost ? 1u : 0u, connection});
    close(wire);
    // The next one can be accepted.
    if (!accepting_) core_.plan_timer(now_ns());
}

// Null: there is no memory for it, or for watching it.
Wire* Connector::add_wire(Fd socket) {
    try {
        // (So that close() needs no memory.)
        const std::size_t wires = wires_.size() + closed_.size() + 1;
        if (closed_.capacity() < wires) closed_.reserve(2 * wires);
        wires_.push_back(std::make_unique<Wire>(std::move(socket), epoll_));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    if (signal_ != 0) apply_signal(wires_.back()->fd.get());
    if (wires_.back()->watch()) return wires_.back().get();
    wires_.pop_back();
    return nullptr;
}

void Connector::close(Wire& wire) {
    if (wire.state == Wire::State::closed) return;
    if (wire.state == Wire::State::up || wire.state == Wire::State::parting)
        --core_.counters.connections;
    wire.state = Wire::State::closed;
    // Closing is not enough: a forked child may hold the socket too, and epoll would still report
    // it.
    (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, wire.fd.get(), nullptr);
    wire.close();
    (void)hold_reserve();
    if (wire.deadline_ns != 0) {
        --unproven_;
        wire.deadline_ns = 0;
    }
    if (Link* link = wire.link) {
        if (link->calling == &wire) link->calling = nullptr;
        if (link->out == &wire) link->out = nullptr;
        if (link->in == &wire) link->in = nullptr;
    }
    const auto place =
        std::ranges::find_if(wires_, [&](const auto& w) { return w.get() == &wire; });
    closed_.push_back(std::move(*place));
    wires_.erase(place);
}

void Connector::forget(const Link& link) {
    for (const auto& wire : closed_) {
        if (wire->link == &link) wire->link = nullptr;
    }
}

Link* find_link(const Peer& peer, std::uint64_t name) {
    if (StreamId::unpack(name).context() == 0) return peer.shared[name].get();
    for (const auto& dedicated : peer.dedicated) {
        if (dedicated->name == name) return dedicated.get();
    }
    return nullptr;
}

void for_each_link(std::vector<Peer>& peers, const std::function<void(Link&)>& visit) {
    for (Peer& peer : peers) {
        for (const auto& shared : peer.shared) {
            if (shared) visit(*shared);
        }
        for (const auto& dedicated : peer.dedicated) visit(*dedicated);
    }
}

}  // namespace weft::tcp
