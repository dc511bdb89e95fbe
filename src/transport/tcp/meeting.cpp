// Setting connections up: calling a peer, being called, and when a connection is in use.
//
// A rank that needs a peer calls it (connects); the peer may call at the same time. The caller may
// send when the called rank has accepted the connection with a `welcome`. Until then the called
// rank may hang up at any time, and the caller calls again, a bounded number of times. Of two calls
// that cross, the one of the lower rank is kept: that rank hangs up on the other. If both were
// accepted, each rank sends only on the one that it has accepted.
//
// Callers that do not prove themselves within caller_patience_ns are dropped; so are the oldest of
// them when there are many, or when descriptors run short: strangers do not keep peers out for
// long. Nothing that a caller sends has an effect before it has proven itself.
//
// A rank keeps one descriptor in reserve for callers. When there is no other, it accepts a caller
// with that one and answers a peer with `full`. So no peer waits for an answer in vain, and two
// ranks whose calls have taken all their descriptors hang up and try again. A connection for which
// either end has no descriptor is given up after calls_without_descriptor_max tries.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "transport/tcp/tcp.h"

#include <linux/sockios.h>

namespace weft {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Handshake;
using tcp::Hello;
using tcp::Listener;

namespace {

constexpr std::int64_t caller_patience_ns = 3'000'000'000;
// No caller is dropped earlier to make room for the next one.
constexpr std::int64_t hearing_ns = 50'000'000;
constexpr std::size_t callers_max = 128;  // that have not proven themselves
constexpr int accepts_max = 32;           // at one look
constexpr std::int64_t call_delay_min_ns = 2'000'000;
constexpr std::int64_t call_delay_max_ns = 500'000'000;
constexpr int calls_max = 30;                     // that fail; they take about 12 s
constexpr int calls_without_descriptor_max = 16;  // they take about 5 s
constexpr int calls_unexplained_max = 4;
// As a reason for the loss of a peer (transport/transport.h).
constexpr weft_status no_descriptor = WEFT_REFUSED_MEMORY;
// A peer that does not call within this time may be dead: calling it shows.
constexpr std::int64_t own_call_ns = 1'000'000'000;

void set(int socket, int level, int option, int value) {
    // Connections also work without these options.
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

// An idle connection notices that the other host is gone.
void keep_alive(int socket, std::int64_t timeout_ns) {
    constexpr std::int64_t timeout_max_s = 60'000;  // of the kernel
    const int timeout_s =
        static_cast<int>(std::clamp<std::int64_t>(timeout_ns / 1'000'000'000, 2, timeout_max_s));
    constexpr int probes = 5;
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, (timeout_s + 1) / 2);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, timeout_s / 2 / probes));
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

bool is_gone(int error) { return error == 0 || error == ECONNRESET || error == EPIPE; }

// A resource is short in this process or machine, and may be freed by others.
bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == ENOSPC || error == EADDRNOTAVAIL;
}

// The other end's machine has answered.
bool has_connected(const tcp::Wire& wire) {
    if (wire.state != tcp::Wire::State::connecting) return true;
    tcp_info info{};
    socklen_t size = sizeof info;
    return getsockopt(wire.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state != TCP_SYN_SENT;
}

}  // namespace

// Somebody wants to send to the peer or to receive from it.
void TcpTransport::need(Link& link) {
    if (link.out != nullptr || link.calling != nullptr || link.call_at_ns != 0 || link.peer.lost)
        return;
    // When a dedicated connection ends, the reason comes on a shared one, which must be up before.
    SharedConnection& first = shared_at(link.peer, 0);
    if (link.is_dedicated() && first.out == nullptr) return need(first);
    call(link);
}

// The lower rank of each pair calls; the other one only after own_call_ns.
Status TcpTransport::open_all(std::int64_t deadline_ns) {
    for (Peer& peer : peers_) {
        for (std::uint32_t i = 0; i < peer.connections && !peer.addresses.empty(); ++i) {
            SharedConnection& shared = shared_at(peer, i);
            if (rank_ < peer.rank) need(shared);
        }
    }
    for (const std::int64_t own_call_at_ns = now_ns() + own_call_ns;;) {
        look_around_ = true;
        (void)poll({});
        if (now_ns() > own_call_at_ns) for_each_shared([this](SharedConnection& c) { need(c); });
        const SharedConnection* missing = nullptr;
        for_each_shared([&](const SharedConnection& shared) {
            const bool is_worse = missing == nullptr || shared.peer.lost;
            if (shared.out == nullptr && is_worse) missing = &shared;
        });
        if (missing == nullptr) return ok;
        const Rank rank = missing->peer.rank;
        if (missing->peer.lost && missing->peer.loss == no_descriptor)
            return failure_of_rank(
                WEFT_REFUSED_MEMORY, rank,
                "no descriptor for a connection with rank %d, of this rank or of that one", rank);
        if (missing->peer.lost)
            return failure_of_rank(WEFT_REFUSED_STATE, rank, "rank %d ended before it was reached",
                                   rank);
        if (now_ns() > deadline_ns)
            return failure_of_rank(WEFT_REFUSED_STATE, rank,
                                   "no connection with rank %d has come about in time", rank);
        pollfd events{events_.get(), POLLIN, 0};
        (void)::poll(&events, 1, 10);
    }
}

void TcpTransport::call(Link& link) {
    ++counters_.calls;
    link.call_at_ns = 0;
    const std::uint32_t turn = link.stream().context + link.stream().stream;
    const auto& addresses = link.peer.addresses;
    const tcp::Address& to = addresses[turn % addresses.size()];
    Fd socket;
    // (The reserve is not for calls.)
    while (!hold_reserve() ||
           !(socket = Fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)))) {
        if (!is_shortage(errno)) return lose(link.peer, WEFT_BROKEN_TRANSPORT);
        // Not a caller that is just being heard.
        if (!make_room_for_caller(now_ns() - hearing_ns)) return call_later(link, no_descriptor);
    }
    tcp::Address from = own_[turn % own_.size()];
    from.set_port(0);
    if (from.family() == to.family()) {
        set(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        // If this fails, the kernel chooses the address.
        (void)bind(socket.get(), from.get(), from.length);
    }
    set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT,
        static_cast<int>(settings_.peer_timeout_ns / 1'000'000));
    const bool fails = connect(socket.get(), to.get(), to.length) != 0 && errno != EINPROGRESS;
    const int error = errno;
    Wire* wire = add_wire(std::move(socket));
    if (wire == nullptr) return call_later(link, WEFT_BROKEN_TRANSPORT);
    wire->link = &link;
    wire->is_caller = true;
    link.calling = wire;
    watch_out(*wire, true);
    if (fails) fail(*wire, error);
}

// A call has failed; after many the peer is lost.
void TcpTransport::call_later(Link& link, weft_status loss) {
    if (link.peer.lost) return;
    const int most = loss == no_descriptor ? calls_without_descriptor_max : calls_max;
    if (++link.calls_failed >= most) return lose(link.peer, loss);
    const int doublings = std::min(link.calls_failed, 16);
    link.call_at_ns = now_ns() + std::min(call_delay_min_ns << doublings, call_delay_max_ns);
    plan_timer(link.call_at_ns);
}

void TcpTransport::call_again(std::int64_t now) {
    for_each_link([&](Link& link) {
        if (link.call_at_ns == 0) return;
        if (link.call_at_ns > now) return plan_timer(link.call_at_ns);
        link.call_at_ns = 0;
        need(link);
    });
}

// The kernel has connected our call, or has failed to.
void TcpTransport::connected(Wire& wire) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(wire.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return fail(wire, error);
    // From here on the timer watches whether the peer answers: this option would also end a
    // connection whose peer computes and does not read.
    set(wire.fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    keep_alive(wire.fd.get(), settings_.peer_timeout_ns);
    wire.state = Wire::State::proving;
    wire.handshake = Handshake::caller(key_, {rank_, wire.link->peer.rank, wire.link->name});
    prove(wire);
}

void TcpTransport::accept_callers(Listener& listener) {
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
            // Further callers wait until one of these has been dealt with.
            starved_ += unproven_ == 0;
            accepting_ = false;
            for (const auto& l : listeners_)
                epoll_ctl(events_.get(), EPOLL_CTL_DEL, l->fd.get(), nullptr);
            return plan_timer(now_ns() + hearing_ns);
        }
        if (unproven_ == callers_max) (void)make_room_for_caller();
        Wire* wire = add_wire(std::move(socket));
        if (wire == nullptr) return;
        ++unproven_;
        wire->state = Wire::State::proving;
        wire->handshake = Handshake::listener(key_, rank_, static_cast<Rank>(peers_.size()));
        wire->deadline_ns = now_ns() + caller_patience_ns;
        plan_timer(wire->deadline_ns);
        prove(*wire);
    }
}

// Drops the oldest caller that has not proven itself. False: none called before `since_ns`.
bool TcpTransport::make_room_for_caller(std::int64_t since_ns) {
    for (const auto& wire : wires_) {
        if (wire->deadline_ns == 0) continue;
        if (wire->deadline_ns - caller_patience_ns > since_ns) return false;
        ++counters_.crowded_out;
        close(*wire);
        return true;
    }
    return false;
}

void TcpTransport::drop_slow_callers(std::int64_t now) {
    for (std::size_t i = 0; i < wires_.size() && unproven_ > 0;) {
        Wire& wire = *wires_[i];
        if (wire.deadline_ns == 0 || wire.deadline_ns > now) {
            if (wire.deadline_ns != 0) plan_timer(wire.deadline_ns);
            ++i;
            continue;
        }
        // Not slow, if this rank is the one that has not looked for so long.
        prove(wire);
        if (wire.state != Wire::State::proving) continue;
        ++counters_.too_slow;
        close(wire);
    }
}

// Continues the handshake as far as the socket allows.
void TcpTransport::prove(Wire& wire) {
    Handshake& handshake = *wire.handshake;
    while (handshake.state() == Handshake::State::going) {
        ssize_t n;
        if (const Bytes out = handshake.to_send(); !out.empty()) {
            n = send(wire.fd.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) handshake.sent(static_cast<std::size_t>(n));
            if (n < 0 && errno == EAGAIN) return watch_out(wire, true);
        } else {
            const MutBytes in = handshake.wanted();
            n = recv(wire.fd.get(), in.data(), in.size(), MSG_DONTWAIT);
            if (n > 0) handshake.received(static_cast<std::size_t>(n));
            if (n < 0 && errno == EAGAIN) return watch_out(wire, false);
            if (n > 0 && is_superfluous(wire)) {
                ++counters_.superfluous;
                return close(wire);
            }
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail(wire, n < 0 ? errno : 0);
    }
    if (handshake.state() == Handshake::State::proven) return proven(wire);
    const auto refusal = static_cast<std::size_t>(handshake.refusal());
    close(wire);
    if (wire.is_caller) {
        // Our call did not reach the peer: another program has its port now.
        if (wire.link->out == nullptr) lose(wire.link->peer, WEFT_BROKEN_RANK);
        return;
    }
    ++counters_.refused[refusal];
}

// The caller has said who it is: whether we hang up on it even if it proves that.
bool TcpTransport::is_superfluous(const Wire& wire) const {
    const Hello* hello = wire.handshake->hello();
    if (wire.is_caller || hello == nullptr) return false;
    const Peer& peer = peers_[static_cast<std::size_t>(hello->from)];
    if (peer.lost) return peer.loss != no_descriptor;  // it is told so
    if (peer.addresses.empty()) return true;
    const StreamId stream = StreamId::unpack(hello->connection);
    const Link* link = nullptr;
    if (stream.context != 0) {
        if (stream.stream >= streams_max || !contexts_.wants(stream.context)) return true;
        if (is_parting(peer, stream)) return true;
        link = find_dedicated(peer, stream);
    } else {
        if (hello->connection >= peer.connections) return true;
        link = peer.shared[hello->connection].get();
    }
    if (link == nullptr) return false;
    if (link->out != nullptr) return true;
    return rank_ < peer.rank && link->calling != nullptr && has_connected(*link->calling);
}

void TcpTransport::proven(Wire& wire) {
    if (wire.is_caller) {
        wire.handshake.reset();
        wire.state = Wire::State::unanswered;
        watch_out(wire, false);
        return read(wire);
    }
    const Hello hello = *wire.handshake->hello();
    wire.handshake.reset();
    --unproven_;
    wire.deadline_ns = 0;
    Peer& peer = peers_[static_cast<std::size_t>(hello.from)];
    if (!hold_reserve()) (void)make_room_for_caller(now_ns() - hearing_ns);
    if (peer.lost || !hold_reserve()) return turn_away(wire, peer, hello.connection);
    const StreamId stream = StreamId::unpack(hello.connection);
    set(wire.fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    keep_alive(wire.fd.get(), settings_.peer_timeout_ns);
    // This one wins over our own call, if there is one; if the peer has accepted ours already, both
    // are used.
    if (stream.context != 0) {
        DedicatedConnection& dedicated = dedicated_at(peer, stream);
        wire.link = &dedicated;
        if (!answer(wire, {FrameKind::welcome, 0, 0, dedicated.name})) {
            // The caller is gone.
            close(wire);
            if (is_needed(dedicated)) need(dedicated);
            return;
        }
    } else {
        SharedConnection& shared = shared_at(peer, stream.stream);
        wire.link = &shared;
        shared.controls.push_front({FrameKind::welcome, 0, 0, 0});
    }
    take_up(wire, *wire.link);
}

// Whether there is a descriptor to accept the next caller with.
bool TcpTransport::hold_reserve() {
    if (reserve_) return true;
    reserve_ = Fd(fcntl(events_.get(), F_DUPFD_CLOEXEC, 0));
    if (reserve_) starved_ = 0;
    return static_cast<bool>(reserve_);
}

// Something else in this process has taken the reserve, so callers cannot be accepted. They must
// not wait for an answer.
void TcpTransport::stop_listening() {
    for (const auto& listener : listeners_) listener->fd = {};
}

// Tells the peer that there is no descriptor for the connection that it has called for.
void TcpTransport::turn_away(Wire& wire, const Peer& peer, std::uint64_t connection) {
    (void)answer(wire, {FrameKind::full, 0, peer.lost ? 1u : 0u, connection});
    close(wire);
    // The next one can be accepted.
    if (!accepting_) plan_timer(now_ns());
}

// The peer has answered our call with `full`.
void TcpTransport::refused_by(Wire& wire, const Frame& frame) {
    if (frame.bytes != 0 && wire.link->out == nullptr) lose(wire.link->peer, no_descriptor);
    fail(wire, EMFILE);
}

// From now on the wire carries frames.
void TcpTransport::take_up(Wire& wire, Link& link) {
    ++counters_.connections;
    wire.state = Wire::State::up;
    if (link.calling == &wire) link.calling = nullptr;
    link.in = &wire;
    link.call_at_ns = 0;
    link.calls_failed = 0;
    const bool is_first = link.out == nullptr;
    if (is_first) link.out = &wire;
    if (link.is_dedicated()) {
        auto& dedicated = static_cast<DedicatedConnection&>(link);
        dedicated.unexplained_ns = 0;
        // The peer cannot have accepted a call on which we have not proven ourselves.
        if (dedicated.calling != nullptr && dedicated.calling->state != Wire::State::unanswered)
            close(*dedicated.calling);
        // Operations in the kernel must wait for the socket instead of failing with EAGAIN.
        (void)fcntl(wire.fd.get(), F_SETFL, fcntl(wire.fd.get(), F_GETFL) & ~O_NONBLOCK);
        return go_on(dedicated);
    }
    if (is_first) write(static_cast<SharedConnection&>(link));
    for (const auto& dedicated : link.peer.dedicated) {
        if (is_needed(*dedicated)) need(*dedicated);
    }
}

// Null: epoll has no memory to watch it.
tcp::Wire* TcpTransport::add_wire(Fd socket) {
    wires_.push_back(std::make_unique<Wire>(std::move(socket)));
    Wire& wire = *wires_.back();
    wire.watched = EPOLLIN;
    epoll_event event{};
    event.events = wire.watched;
    event.data.ptr = static_cast<tcp::Source*>(&wire);
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, wire.fd.get(), &event) == 0) return &wire;
    wires_.pop_back();
    return nullptr;
}

void TcpTransport::watch_out(Wire& wire, bool out) {
    listen_for(wire, out ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// With `events` 0, at most one event comes before the next call: when the connection is reset.
void TcpTransport::listen_for(Wire& wire, std::uint32_t events) {
    if (wire.watched == events || wire.state == Wire::State::closed) return;
    wire.watched = events;
    epoll_event event{};
    event.events = events != 0 ? events : std::uint32_t{EPOLLONESHOT};
    event.data.ptr = static_cast<tcp::Source*>(&wire);
    (void)epoll_ctl(events_.get(), EPOLL_CTL_MOD, wire.fd.get(), &event);
}

// The connection has ended, or cannot be set up. `error` 0: the other end closed it.
void TcpTransport::fail(Wire& wire, int error) {
    const bool was_up = wire.state == Wire::State::up;
    Link* link = wire.link;
    if (was_up && link->is_dedicated()) return end(static_cast<DedicatedConnection&>(*link), error);
    if (error == 0) error = wire.write_error;
    close(wire);
    if (link == nullptr) {
        ++counters_.hung_up;
        return;
    }
    if (was_up && static_cast<SharedConnection*>(link)->has_left) return part_from(link->peer);
    // Only the wire that the peer sends on counts, not a superfluous call.
    if (!was_up && link->out != nullptr) {
        if (link->is_dedicated()) go_on(static_cast<DedicatedConnection&>(*link));
        return;
    }
    if (link->is_dedicated() && link->peer.lost) {
        auto& dedicated = static_cast<DedicatedConnection&>(*link);
        dedicated.receives.is_over |= link->in == nullptr;
        return break_places(dedicated);
    }
    const bool has_ended = error == ECONNREFUSED || (was_up && is_gone(error));
    if (has_ended) return lose(link->peer, WEFT_BROKEN_RANK);
    if (was_up || !(is_gone(error) || is_shortage(error)))
        return lose(link->peer, WEFT_BROKEN_TRANSPORT);
    // It hung up: its own call may be on its way. If it always does, it is not the peer, or has
    // abandoned the context, and says so.
    if (link->is_dedicated() && link->calls_failed >= calls_unexplained_max)
        await_reason(static_cast<DedicatedConnection&>(*link));
    if (error == EMFILE) return call_later(*link, no_descriptor);
    const bool is_none = is_gone(error) && !link->is_dedicated();
    call_later(*link, is_none ? WEFT_BROKEN_RANK : WEFT_BROKEN_TRANSPORT);
}

void TcpTransport::close(Wire& wire) {
    if (wire.state == Wire::State::closed) return;
    if (wire.state == Wire::State::up || wire.state == Wire::State::parting)
        --counters_.connections;
    wire.state = Wire::State::closed;
    // Closing is not enough: a forked child may hold the socket too, and epoll would still report
    // it.
    (void)epoll_ctl(events_.get(), EPOLL_CTL_DEL, wire.fd.get(), nullptr);
    wire.fd = {};
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

// Sends a `bye` on every connection. Closing a socket while the peer sends would lose what is still
// in flight: waits until the peer's machine has everything, but no longer than the peer timeout.
void TcpTransport::say_goodbye() {
    for_each_shared([&](SharedConnection& shared) {
        if (!shared.peer.lost && shared.out != nullptr) control(shared, FrameKind::bye, 0, 0);
    });
    write_put_off();
    for (Peer& peer : peers_) {
        while (!peer.dedicated.empty()) part(*peer.dedicated.back());
    }
    const std::int64_t deadline_ns = now_ns() + settings_.peer_timeout_ns;
    for (long pause_ns = 20'000;; pause_ns = std::min(2 * pause_ns, 5'000'000l)) {
        bool all_taken = true;
        auto is_taken = [](const Wire& wire) {
            int waiting = 0;
            return ioctl(wire.fd.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
        };
        // Unread bytes would make closing the socket look like a crash.
        for (std::size_t i = wires_.size(); i-- > 0;) {
            if (i < wires_.size() && wires_[i]->state == Wire::State::up) read(*wires_[i]);
            if (i >= wires_.size() || wires_[i]->state != Wire::State::parting) continue;
            all_taken &= is_taken(*wires_[i]);
            read_parting(*wires_[i]);
        }
        for_each_shared([&](SharedConnection& shared) {
            if (shared.peer.lost || shared.out == nullptr) return;
            write(shared);
            all_taken &= is_taken(*shared.out) && !(shared.owes() && shared.out->write_error == 0);
        });
        if (all_taken || now_ns() > deadline_ns) return;
        const timespec pause{0, pause_ns};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace weft
