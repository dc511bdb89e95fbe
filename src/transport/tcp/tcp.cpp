// The transport as a whole: making it, polling, sleeping, losing peers, forgetting contexts.
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <set>

#include "base/clock.h"

namespace weft {

using tcp::Post;
using tcp::ReceiveLane;
using tcp::SendLane;
using tcp::Source;
using tcp::Unexpected;

namespace {

// Looking at a socket costs a system call. Every poll looks at the sockets that are waited for,
// while they are few; at all others only now and then.
constexpr std::size_t direct_shared_max = 2;
constexpr std::uint32_t polls_per_look = 32;
constexpr std::uint32_t idle_polls_per_look = 512;
constexpr std::uint64_t wake_bytes_max = 128 * 1024;
constexpr int starved_max = 100;  // takes about 5 s

Status watch(int epoll, int fd, std::uint32_t events, Source* source) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = source;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0) return ok;
    return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", strerror(errno));
}

}  // namespace

Result<std::unique_ptr<TcpTransport>> TcpTransport::create(Parts parts) {
    std::unique_ptr<TcpTransport> transport(new TcpTransport(std::move(parts)));
    if (Status status = transport->open_descriptors(); !status.is_ok()) return status;
    return transport;
}

TcpTransport::TcpTransport(Parts parts)
    : rank_(parts.rank),
      key_(parts.key),
      settings_(parts.settings),
      own_(std::move(parts.own)),
      peers_(parts.peers.size()),
      staging_(staging_bytes) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        peer.rank = static_cast<Rank>(rank);
        peer.addresses = std::move(parts.peers[rank]);
        peer.connections = settings_.connections;
        if (peer.connections == 0)
            peer.connections =
                static_cast<std::uint32_t>(std::max(own_.size(), peer.addresses.size()));
        peer.shared.resize(peer.connections);
    }
    for (Fd& listener : parts.listeners)
        listeners_.push_back(std::make_unique<tcp::Listener>(std::move(listener)));
}

Status TcpTransport::open_descriptors() {
    auto without = [](const char* what) {
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for %s: %s", what, strerror(errno));
    };
    if (!(events_ = Fd(epoll_create1(EPOLL_CLOEXEC)))) return without("an epoll");
    if (!(thread_sleep_ = Fd(epoll_create1(EPOLL_CLOEXEC)))) return without("an epoll");
    timer_fd_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_fd_) return without("a timer");
    if (!hold_reserve() || !Fd(fcntl(events_.get(), F_DUPFD_CLOEXEC, 0)))
        return without("a connection");
    WEFT_RETURN_IF_NOT_OK(watch(events_.get(), timer_fd_.get(), EPOLLIN, &timer_));
    for (const auto& listener : listeners_)
        WEFT_RETURN_IF_NOT_OK(watch(events_.get(), listener->fd.get(), EPOLLIN, listener.get()));
    return watch(thread_sleep_.get(), events_.get(), 0, nullptr);
}

TcpTransport::~TcpTransport() {
    if (hung_up_) return;
    forget_posts();
    say_goodbye();
}

// The poster has ended: what is still read and written must not touch its buffers.
void TcpTransport::forget_posts() {
    std::set<std::uint32_t> contexts;
    for_each_shared([&](SharedConnection& shared) {
        auto note = [&](const auto& lane) {
            if (!lane.posts.empty()) contexts.insert(context_of(lane.stream));
        };
        shared.sends.for_each(note);
        shared.receives.for_each(note);
    });
    for_each_dedicated([&](DedicatedConnection& dedicated) {
        if (is_needed(dedicated)) contexts.insert(dedicated.stream().context);
    });
    for (const std::uint32_t context : contexts) abandon(context);
}

void TcpTransport::hang_up() {
    hung_up_ = true;
    for (const auto& wire : wires_) wire->fd = {};
    for (const auto& listener : listeners_) listener->fd = {};
}

Abilities TcpTransport::abilities() const { return {.can_sleep = true}; }

std::size_t TcpTransport::descriptors() const {
    return wires_.size() + listeners_.size() + own_descriptors;
}

// Both ends choose the same connection for a lane.
tcp::SharedConnection& TcpTransport::shared_of(Peer& peer, StreamId stream) {
    return shared_at(peer,
                     stream.context == 0 ? 0 : (stream.context + stream.stream) % peer.connections);
}

tcp::SharedConnection& TcpTransport::shared_at(Peer& peer, std::uint32_t number) {
    std::unique_ptr<SharedConnection>& shared = peer.shared[number];
    if (!shared) [[unlikely]]
        shared = std::make_unique<SharedConnection>(peer, number,
                                                    Credit(Credit::max_among(peers_.size())));
    return *shared;
}

// A post of the user waits for this connection.
void TcpTransport::expect(Link& link) {
    if (link.expected++ > 0) return;
    expecting_.push_back(&link);
    look_at(link);
}

// From now on its peer must not be silent.
void TcpTransport::look_at(Link& link) {
    // Nobody has looked at it since.
    if (link.in != nullptr) link.in->unheard_ns = 0;
    if (link.out != nullptr) link.out->unheard_ns = 0;
    if (timer_at_ns_ == 0) plan_timer(now_ns() + settings_.peer_timeout_ns / 4);
}

void TcpTransport::expect_less(Link& link) {
    if (--link.expected > 0) return;
    *std::ranges::find(expecting_, &link) = expecting_.back();
    expecting_.pop_back();
}

bool TcpTransport::owes(const Link& link) {
    if (link.is_dedicated()) return static_cast<const DedicatedConnection&>(link).owes();
    return static_cast<const SharedConnection&>(link).owes();
}

bool TcpTransport::is_needed(const Link& link) {
    if (link.expected > 0) return true;
    return link.is_dedicated() ? static_cast<const DedicatedConnection&>(link).lists > 0
                               : owes(link);
}

std::size_t TcpTransport::poll(std::span<Completion> done) {
    reports_.begin(done);
    if (!reports_.has_kept()) look_at_sockets();
    return reports_.end();
}

void TcpTransport::look_at_sockets() {
    const std::uint32_t rest = expecting_.empty() ? idle_polls_per_look : polls_per_look;
    write_put_off();
    bool all = std::exchange(look_around_, false) || owing_ > 0 || ++polls_ >= rest;
    if (expecting_.size() <= direct_shared_max && !all) {
        for (std::size_t i = 0; i < expecting_.size(); ++i) {
            Wire* wire = expecting_[i]->in;
            if (wire != nullptr && expecting_[i]->calling == nullptr)
                read(*wire);
            else
                all = true;
        }
    } else {
        all = true;
    }
    if (all) {
        polls_ = 0;
        handle_events();
    }
    write_put_off();
    closed_.clear();
}

void TcpTransport::handle_events() {
    epoll_event events[32];
    const int n = epoll_wait(events_.get(), events, static_cast<int>(std::size(events)), 0);
    for (int i = 0; i < n; ++i)
        on_event(*static_cast<Source*>(events[i].data.ptr), events[i].events);
}

void TcpTransport::on_event(Source& source, std::uint32_t events) {
    if (source.kind == Source::Kind::timer) return on_timer();
    if (source.kind == Source::Kind::listener)
        return accept_callers(static_cast<tcp::Listener&>(source));
    Wire& wire = static_cast<Wire&>(source);
    switch (wire.state) {
        case Wire::State::closed: return;
        case Wire::State::connecting: return connected(wire);
        case Wire::State::proving: return prove(wire);
        case Wire::State::unanswered: return read(wire);
        case Wire::State::parting: return read_parting(wire);
        case Wire::State::up: break;
    }
    if (wire.link->is_dedicated()) return on_dedicated_event(wire, events);
    if ((events & EPOLLOUT) != 0 && wire.link->out == &wire)
        write(static_cast<SharedConnection&>(*wire.link));
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read(wire);
}

void TcpTransport::plan_timer(std::int64_t at_ns) {
    if (timer_at_ns_ != 0 && timer_at_ns_ <= at_ns) return;
    timer_at_ns_ = at_ns;
    itimerspec at{};
    at.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
    timerfd_settime(timer_fd_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

void TcpTransport::on_timer() {
    std::uint64_t expirations;
    (void)!::read(timer_fd_.get(), &expirations, sizeof expirations);
    timer_at_ns_ = 0;
    const std::int64_t now = now_ns();
    drop_slow_callers(now);
    call_again(now);
    if (starved_ > starved_max) {
        stop_listening();
    } else if (!accepting_) {
        accepting_ = true;
        for (const auto& listener : listeners_)
            (void)watch(events_.get(), listener->fd.get(), EPOLLIN, listener.get());
    }
    look_for_silent_peers(now);
    give_up_unexplained(now);
    if (is_expecting()) plan_timer(now + settings_.peer_timeout_ns / 4);
}

// A peer that has not acknowledged anything for too long, although there is something to
// acknowledge, is out of reach. A host whose program does not read still answers: its window is
// zero. (On idle connections the kernel sends keep-alives.)
void TcpTransport::look_for_silent_peers(std::int64_t now) {
    const auto timeout_ms = static_cast<std::uint64_t>(settings_.peer_timeout_ns / 1'000'000);
    for (std::size_t i = wires_.size(); i-- > 0;) {
        if (i >= wires_.size()) continue;
        Wire& wire = *wires_[i];
        // While it connects, the kernel keeps the deadline.
        if (wire.link == nullptr || wire.state == Wire::State::connecting) continue;
        if (!is_needed(*wire.link)) continue;
        tcp_info info{};
        socklen_t size = sizeof info;
        if (getsockopt(wire.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
        const bool unheard =
            info.tcpi_unacked > 0 ? info.tcpi_retransmits > 0 : info.tcpi_probes > 1;
        if (!unheard) {
            wire.unheard_ns = 0;
            continue;
        }
        // The acknowledgement may be old because nothing was sent.
        if (wire.unheard_ns == 0) wire.unheard_ns = now;
        const bool is_long = now - wire.unheard_ns >= settings_.peer_timeout_ns * 3 / 4;
        if (is_long && info.tcpi_last_ack_recv > timeout_ms) fail(wire, ETIMEDOUT);
    }
}

int TcpTransport::wait_fd(Sleeper sleeper) const {
    return sleeper == Sleeper::thread ? thread_sleep_.get() : events_.get();
}

// Sockets are readable whoever sleeps. A program's thread looks at them only when it sleeps itself;
// the progress thread must not be woken while the program drives.
bool TcpTransport::arm(Sleeper sleeper) {
    write_put_off();
    const bool thread = sleeper == Sleeper::thread;
    // What has come already is for the caller, which still holds the lock: a thread woken now would
    // block at once, and the scheduler would make it wait for its next turn.
    pollfd events{events_.get(), POLLIN, 0};
    if (thread && !thread_armed_ && ::poll(&events, 1, 0) > 0) {
        look_around_ = true;
        return false;
    }
    if (thread != thread_armed_) {
        thread_armed_ = thread;
        epoll_event event{};
        event.events = thread ? std::uint32_t{EPOLLIN} : 0;
        epoll_ctl(thread_sleep_.get(), EPOLL_CTL_MOD, events_.get(), &event);
    }
    if (sleeper != Sleeper::none) {
        for (Link* link : expecting_) {
            if (link->in != nullptr) sleep_until_worthwhile(*link->in);
        }
    }
    return !reports_.has_kept();
}

void TcpTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        auto owing = [](const auto& link) { return link && link->owes(); };
        if (std::ranges::any_of(peer.shared, owing) || std::ranges::any_of(peer.dedicated, owing))
            peers.push_back(peer.rank);
    }
}

// Within a large frame, waking up for every packet would cost the computation more than it saves.
// Nothing else can be read before the frame's end, and that will come: even a sender that abandons
// the message ends the frame.
void TcpTransport::sleep_until_worthwhile(Wire& wire) {
    const int worthwhile =
        static_cast<int>(std::clamp<std::uint64_t>(wire.left, 1, wake_bytes_max));
    if (worthwhile == wire.wake_bytes || wire.state == Wire::State::closed) return;
    wire.wake_bytes = worthwhile;
    (void)setsockopt(wire.fd.get(), SOL_SOCKET, SO_RCVLOWAT, &worthwhile, sizeof worthwhile);
}

// Posts wait for a connection, and both ends must answer for it to come up.
bool TcpTransport::is_meeting() const {
    auto is_coming = [](const Link* link) {
        return link->out == nullptr || (link->is_dedicated() && link->calling != nullptr);
    };
    return std::ranges::any_of(expecting_, is_coming) || std::ranges::any_of(holding_, is_coming);
}

// The peer leaves when it has said so on each connection: what it sent on others comes first.
void TcpTransport::part_from(Peer& peer) {
    for (const auto& shared : peer.shared) {
        if (shared && shared->in != nullptr && !shared->has_left) return;
    }
    peer.has_left = true;
    lose(peer, WEFT_BROKEN_RANK);
}

// What the peer has sent still counts; nothing more will come.
void TcpTransport::lose(Peer& peer, weft_status how) {
    if (peer.lost) return;
    peer.lost = true;
    peer.loss = peer.has_left ? WEFT_BROKEN_RANK : how;
    for (std::size_t i = wires_.size(); i-- > 0;) {
        if (i >= wires_.size()) continue;
        const Wire& wire = *wires_[i];
        const bool is_out_of_reach = peer.loss != WEFT_BROKEN_RANK;
        if (wire.link != nullptr && &wire.link->peer == &peer) {
            // Dedicated connections are read to their ends.
            const bool may_be_read = wire.link->is_dedicated() &&
                                     (wire.state == Wire::State::up ||
                                      (wire.state == Wire::State::unanswered && !is_out_of_reach));
            if (!may_be_read) close(*wires_[i]);
        } else if (wire.parts == &peer && is_out_of_reach) {
            close(*wires_[i]);
        }
    }
    for (auto& shared : peer.shared) {
        if (shared) break_posts(*shared);
    }
    lose_dedicated(peer);
    report_loss(peer);
}

void TcpTransport::break_posts(SharedConnection& shared) {
    const bool was_expected = shared.expected > 0;
    auto break_all = [&](tcp::Chain<Post>& posts, std::uint64_t stream) {
        while (!posts.empty()) {
            Post* post = posts.take_first();
            if (!post->is_ghost)
                reports_.add(
                    {.token = post->token, .code = shared.peer.loss, .peer = shared.peer.rank},
                    stream);
            posts_.give_back(post);
        }
    };
    shared.receives.for_each([&](ReceiveLane& lane) {
        break_all(lane.posts, lane.stream);
        // Only the last one can be incomplete.
        tcp::Chain<Unexpected> complete;
        while (!lane.unexpected.empty()) {
            Unexpected* message = lane.unexpected.take_first();
            if (!message->is_rts && message->offset == message->bytes)
                complete.append(message);
            else
                release(shared, message);
        }
        lane.unexpected = complete;
    });
    shared.sends.for_each([&](SendLane& lane) {
        break_all(lane.posts, lane.stream);
        lane.front = SendLane::Front::none;
        lane.early_cts = 0;
    });
    shared.controls.clear();
    shared.ready.clear();
    shared.head_left = 0;
    shared.payload_left = 0;
    shared.writing.reset();
    shared.call_at_ns = 0;
    note_owing(shared);
    if (was_expected) {
        shared.expected = 1;
        expect_less(shared);
    }
}

void TcpTransport::report_loss(Peer& peer) {
    if (peer.loss_reported || peer.has_left) return;
    peer.loss_reported = true;
    reports_.add({.token = {}, .code = peer.loss, .peer = peer.rank}, 0);
}

// For a post that needs a lost peer.
Posted TcpTransport::refuse(Peer& peer, const Lane& lane, Token token) {
    report_loss(peer);
    reports_.add({.token = token, .code = peer.loss, .peer = lane.peer}, lane.stream.packed());
    return Posted::pending;
}

void TcpTransport::abandon(std::uint32_t context) {
    contexts_.remove(context);
    reports_.forget(context);
    for_each_shared([&](SharedConnection& shared) {
        abandon_sends(shared, context);
        abandon_receives(shared, context);
    });
    take_back(context, /*in_good_order=*/false);
}

void TcpTransport::retire(std::uint32_t context) {
    contexts_.remove(context);
    for_each_shared([&](SharedConnection& shared) {
        shared.sends.for_each([&](SendLane& lane) {
            if (context_of(lane.stream) == context) lane.early_cts = 0;
        });
        shared.receives.for_each([&](ReceiveLane& lane) {
            if (context_of(lane.stream) == context) lane.spare_cts = 0;
        });
        drop_unwanted_messages(shared);
    });
    take_back(context, /*in_good_order=*/true);
}

void TcpTransport::keep_early(bool keep) {
    contexts_.keep_early(keep);
    for_each_shared([&](SharedConnection& shared) { drop_unwanted_messages(shared); });
    if (!keep) drop_unwanted_dedicated();
}

}  // namespace weft
