// The transport as a whole: making it, polling, sleeping, its contexts.
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "transport/common/dealing.h"
#include "transport/vain_call.h"

namespace weft {

using tcp::Source;

namespace {

// Looking at a socket costs a system call. Every poll looks at the sockets that are waited for,
// while they are few; at all others only now and then.
constexpr std::size_t direct_shared_max = 2;
constexpr std::uint32_t polls_per_look = 32;
constexpr std::uint32_t idle_polls_per_look = 512;
constexpr std::uint64_t share_bytes = 16 * 1024;
// A peer that does not call within this time may be dead: calling it shows.
constexpr std::int64_t own_call_ns = 1'000'000'000;

}  // namespace

Result<std::unique_ptr<TcpTransport>> TcpTransport::create(Parts parts) {
    std::unique_ptr<TcpTransport> transport(new TcpTransport(std::move(parts)));
    if (Status status = transport->open_descriptors(); !status.is_ok()) return status;
    return transport;
}

TcpTransport::TcpTransport(Parts parts)
    : Core(parts.settings, parts.peers.size()),
      rank_(parts.rank),
      peers_(parts.peers.size()),
      connector_(*this, parts.rank, parts.key, parts.own, std::move(parts.listeners), peers_) {
    const std::vector<PlaceInJob>& everyone = parts.places;
    const PlaceInJob here = everyone[static_cast<std::size_t>(rank_)];
    const std::uint32_t nodes = std::ranges::max(everyone, {}, &PlaceInJob::node).node + 1;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        peer.rank = static_cast<Rank>(rank);
        peer.addresses = std::move(parts.peers[rank]);
        if (!parts.others.empty()) peer.others = std::move(parts.others[rank]);
        const auto links =
            static_cast<std::uint32_t>(std::max(connector_.own().size(), peer.addresses.size()));
        peer.connections = settings.connections == 0 ? links : settings.connections;
        peer.links = std::min(links, peer.connections);
        peer.interfaces = links;
        peer.ranks = static_cast<std::uint32_t>(peers_.size());
        peer.turn = turn_of_pair(here, everyone[rank], nodes);
        peer.whole_bytes_max =
            peer.links == 1
                ? UINT64_MAX
                : std::max(settings.eager_threshold, settings.cut_bytes_min) - std::size_t{1};
        peer.shared.resize(peer.connections);
    }
}

Status TcpTransport::open_descriptors() {
    auto without = [](const char* what) {
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for %s: %s", what, strerror(errno));
    };
    auto watch = [](int epoll, int fd, std::uint32_t events, Source* source) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = source;
        return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
    };
    if (!(events_ = Fd(epoll_create1(EPOLL_CLOEXEC)))) return without("an epoll");
    if (!(thread_sleep_ = Fd(epoll_create1(EPOLL_CLOEXEC)))) return without("an epoll");
    timer_fd_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_fd_) return without("a timer");
    if (!watch(events_.get(), timer_fd_.get(), EPOLLIN, &timer_) ||
        !watch(thread_sleep_.get(), events_.get(), 0, nullptr))
        return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", strerror(errno));
    return connector_.open(events_.get());
}

TcpTransport::~TcpTransport() {
    if (hung_up_) return;
    forget_posts();
    say_goodbye();
}

std::string TcpTransport::vain_call(Rank rank) const {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    const auto was_reached = [](const auto& shared) { return shared && shared->was_up; };
    if (!peer.lost || peer.loss != WEFT_BROKEN_TRANSPORT || peer.addresses.empty() ||
        std::ranges::any_of(peer.shared, was_reached))
        return {};
    return where_called(peer);
}

std::string TcpTransport::where_called(const Peer& peer) const {
    std::string text;
    for (const auto* addresses : {&peer.addresses, &peer.others}) {
        for (const tcp::Address& address : *addresses)
            text += (text.empty() ? "" : " and ") + address.text();
    }
    if (settings.by_route) return text;
    std::string from;
    for (const tcp::Address& address : connector_.own())
        from += (from.empty() ? " from " : " and ") + address.host();
    return text + from;
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
        if (missing->peer.lost && missing->peer.loss == tcp::no_descriptor)
            return failure_of_rank(
                WEFT_REFUSED_MEMORY, rank,
                "no descriptor for a connection with rank %d, of this rank or of that one", rank);
        if (missing->peer.lost && vain_call(rank).empty())
            return failure_of_rank(WEFT_REFUSED_STATE, rank, "rank %d ended before it was reached",
                                   rank);
        if (missing->peer.lost || now_ns() > deadline_ns)
            return failure_of_rank(WEFT_REFUSED_STATE, rank,
                                   "no connection with rank %d has come about in time; %s", rank,
                                   vain_call_text(rank_, where_called(missing->peer)).c_str());
        pollfd events{events_.get(), POLLIN, 0};
        (void)::poll(&events, 1, 10);
    }
}

void TcpTransport::hang_up() {
    hung_up_ = true;
    connector_.hang_up();
}

std::size_t TcpTransport::descriptors() const {
    return connector_.wires().size() + connector_.listeners() + own_descriptors;
}

tcp::SharedConnection& TcpTransport::shared_at(Peer& peer, std::uint32_t number) {
    std::unique_ptr<SharedConnection>& shared = peer.shared[number];
    if (!shared) [[unlikely]] {
        count_link();
        shared = std::make_unique<SharedConnection>(core(), peer, number);
    }
    return *shared;
}

tcp::Link& TcpTransport::link_at(Peer& peer, std::uint64_t name) {
    if (Link* link = tcp::find_link(peer, name)) return *link;
    const StreamId stream = StreamId::unpack(name);
    if (stream.context() == 0) return shared_at(peer, stream.stream());
    (void)shared_at(peer, 0);  // (need() asks for it)
    count_link();
    return *peer.dedicated.emplace_back(
        std::make_unique<DedicatedConnection>(core(), peer, stream));
}

// There is something to send to the peer or to receive from it.
void TcpTransport::need(Link& link) {
    if (link.out != nullptr || link.calling != nullptr || link.call_at_ns != 0 || link.peer.lost ||
        link.peer.ending_since_ns != 0)
        return;
    // When a dedicated connection ends, the reason comes on a shared one, which must be up before.
    if (link.is_dedicated() && link.peer.shared[0]->out == nullptr)
        return need(*link.peer.shared[0]);
    connector_.call(link);
}

void TcpTransport::take_up(Wire& wire, Link& link) {
    ++Core::counters.connections;
    wire.state = Wire::State::up;
    if (link.calling == &wire) link.calling = nullptr;
    link.in = &wire;
    link.was_up = true;
    link.call_at_ns = 0;
    link.calls_failed = 0;
    const bool is_first = link.out == nullptr;
    if (is_first) link.out = &wire;
    if (link.is_dedicated()) return static_cast<DedicatedConnection&>(link).take_up(wire);
    if (is_first) static_cast<SharedConnection&>(link).write();
    for (const auto& dedicated : link.peer.dedicated) {
        if (dedicated->is_needed()) need(*dedicated);
    }
}

std::size_t TcpTransport::poll(std::span<Completion> done) {
    may_move = moved_bytes_max;
    reports.begin(done);
    if (!reports.has_kept()) look_at_sockets();
    return reports.end();
}

void TcpTransport::look_at_sockets() {
    const std::uint32_t rest = expecting.empty() ? idle_polls_per_look : polls_per_look;
    write_put_off(1);
    bool all = std::exchange(look_around_, false) || owing > 0 || ++polls_ >= rest;
    if (expecting.size() <= direct_shared_max && !all) {
        for (std::size_t i = 0; i < expecting.size(); ++i) {
            // (They take turns in being the first.)
            Link& link = *expecting[(i + polls_) % expecting.size()];
            if (link.in != nullptr && link.calling == nullptr)
                link.read(*link.in);
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
    write_put_off(1);
    connector_.free_closed();
}

void TcpTransport::handle_events() {
    epoll_event events[32];
    const int n = epoll_wait(events_.get(), events, static_cast<int>(std::size(events)), 0);
    for (int i = 0; i < n; ++i) {
        // Each gets a share, whatever those before it have moved.
        may_move = std::max(may_move, share_bytes);
        on_event(*static_cast<Source*>(events[i].data.ptr), events[i].events);
    }
}

void TcpTransport::on_event(Source& source, std::uint32_t events) {
    if (source.kind == Source::Kind::timer) return on_timer();
    if (source.kind == Source::Kind::listener)
        return connector_.on_caller(static_cast<tcp::Listener&>(source));
    Wire& wire = static_cast<Wire&>(source);
    switch (wire.state) {
        case Wire::State::closed: return;
        case Wire::State::connecting: return connector_.connected(wire);
        case Wire::State::proving: return connector_.prove(wire);
        case Wire::State::unanswered: return wire.link->read(wire);
        case Wire::State::parting: return read_parting(wire);
        case Wire::State::up: return wire.link->on_event(wire, events);
    }
}

// Each connection may write `bytes`, or the rest of may_move.
void TcpTransport::write_put_off(std::uint64_t bytes) {
    for (std::size_t i = 0; i < put_off.size(); ++i) {
        may_move = std::max(may_move, bytes);
        put_off[i]->write_put_off();
    }
    put_off.clear();
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
    connector_.on_timer(now);
    look_for_silent_peers(now);
    give_up_ending(now);
    for_each_dedicated([&](DedicatedConnection& dedicated) { dedicated.give_up_unexplained(now); });
    if (!expecting.empty() || !holding.empty()) plan_timer(now + settings.peer_timeout_ns / 4);
}

// A peer that does not acknowledge data is out of reach. (On idle connections the kernel
// sends keep-alives.)
void TcpTransport::look_for_silent_peers(std::int64_t now) {
    connector_.for_each_wire([&](Wire& wire) {
        // While it connects, the kernel keeps the deadline.
        if (wire.link == nullptr || wire.state == Wire::State::connecting) return;
        if (!wire.link->is_needed()) return;
        if (wire.silence.is_too_long(wire.fd.get(), now, settings.peer_timeout_ns))
            fail(wire, ETIMEDOUT);
    });
}

int TcpTransport::wait_fd(Sleeper sleeper) const {
    return sleeper == Sleeper::thread ? thread_sleep_.get() : events_.get();
}

// Sockets are readable for every sleeper. A program's thread polls them only when it sleeps itself;
// the progress thread must not be woken while the program drives.
bool TcpTransport::arm(Sleeper sleeper) {
    write_put_off(moved_bytes_max);
    const bool thread = sleeper == Sleeper::thread;
    // The caller, which still holds the lock, handles earlier arrivals: a thread woken now would
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
        for (const Link* link : expecting) {
            if (link->in != nullptr) link->in->sleep_until_worthwhile();
        }
    }
    return !reports.has_kept();
}

void TcpTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        auto owes = [](const auto& link) { return link && link->owes(); };
        if (std::ranges::any_of(peer.shared, owes) || std::ranges::any_of(peer.dedicated, owes))
            peers.push_back(peer.rank);
    }
}

// Posts wait for a connection, and both ends must answer for it to come up.
bool TcpTransport::is_meeting() const {
    auto is_coming = [](const Link* link) {
        return link->out == nullptr || (link->is_dedicated() && link->calling != nullptr);
    };
    return std::ranges::any_of(expecting, is_coming) || std::ranges::any_of(holding, is_coming);
}

void TcpTransport::cancel_context(std::uint64_t context) {
    contexts.remove(context);
    for_each_shared([&](SharedConnection& shared) { shared.cancel_context(context); });
    take_back(context, /*in_good_order=*/false);
    reports.forget(context);  // (That may have lost a peer.)
    posts.refill();
}

void TcpTransport::close_context(std::uint64_t context) {
    contexts.remove(context);
    for_each_shared([&](SharedConnection& shared) { shared.close_context(context); });
    take_back(context, /*in_good_order=*/true);
}

void TcpTransport::buffer_unknown(bool keep) {
    contexts.buffer_unknown(keep);
    for_each_shared([&](SharedConnection& shared) { shared.drop_unwanted_messages(); });
    if (!keep) drop_unwanted_dedicated();
}

// The resources of the transport, and an upper bound for any job.

using tcp::Refusal;

Usage TcpTransport::usage() const {
    const tcp::Counters& counted = counters();
    Usage usage{.connections = counted.connections, .descriptors = descriptors()};
    usage.bytes = sizeof *this + staging.capacity() + spare.capacity() + posts.held_bytes() +
                  unexpected.held_bytes() + places.held_bytes() + reports.held_bytes() +
                  connector_.wires().size() * sizeof(Wire);
    for (const Peer& peer : peers_) {
        usage.bytes += sizeof peer +
                       (peer.addresses.capacity() + peer.others.capacity()) * sizeof(tcp::Address) +
                       (peer.shared.capacity() + peer.dedicated.capacity()) * sizeof(void*) +
                       peer.dedicated.size() * sizeof(DedicatedConnection);
        for (const auto& shared : peer.shared) usage.bytes += shared ? shared->held_bytes() : 0;
    }
    for (std::size_t i = 1; i < tcp::refusal_kinds; ++i)
        usage.turned_away.emplace_back(tcp::refusal_name(static_cast<Refusal>(i)),
                                       counted.refused[i]);
    usage.turned_away.emplace_back("too slow", counted.too_slow);
    usage.turned_away.emplace_back("hung up", counted.hung_up);
    usage.turned_away.emplace_back("crowded out", counted.crowded_out);
    usage.turned_away.emplace_back("not needed", counted.superfluous);
    return usage;
}

Usage TcpTransport::usage_max(const Extent& job) {
    const std::size_t ranks = job.ranks;
    const std::size_t streams = job.streams;
    const std::size_t peers = ranks - 1;
    const std::size_t shared = peers * job.connections;
    const std::size_t dedicated = peers * job.dedicated;
    // When two calls cross, both wires may be used. And a peer may still have dedicated connections
    // that this rank has parted from while new ones are up already.
    const std::size_t wires = 2 * shared + 2 * 2 * dedicated;
    const std::size_t listeners = std::max(job.connections, 1 + tcp::others_max);
    Usage usage{.connections = wires, .descriptors = wires + listeners + own_descriptors};
    // A table grows to twice its entries, as a power of two, and keeps the previous one.
    using Sends = LaneTable<tcp::SendLane>;
    const std::size_t lanes = streams + 1 <= Sends::size_min / 4 * 3
                                  ? Sends::size_min
                                  : 2 * std::bit_ceil(2 * streams + 4);
    constexpr std::size_t fifo_slots_min = 8;
    const std::size_t of_shared = sizeof(void*) + sizeof(SharedConnection) +
                                  lanes * SharedConnection::lane_bytes +
                                  std::bit_ceil(std::max(streams, fifo_slots_min)) *
                                      (sizeof(tcp::Frame) + sizeof(std::uint64_t));
    // The posts of all streams, in a piece for each link, the one for a peer's failure notice, and
    // spares; and room to report each of them, up to twice the need.
    constexpr std::size_t report_bytes = 2 * (sizeof(Completion) + sizeof(std::uint64_t));
    const std::size_t pieces = 2 * streams * job.connections;
    const std::size_t post_count = peers * (pieces + 1) + 2 * ranks + 2 * Pool<tcp::Post>::batch;
    const std::size_t place_count = job.dedicated > 0 ? 2 * dedicated + 64 : 0;
    const std::size_t post_bytes = post_count * sizeof(tcp::Post) +
                                   place_count * sizeof(tcp::Place) +
                                   (post_count + 2 * place_count + ranks + streams) * report_bytes;
    // Blocks are powers of two.
    const std::size_t unexpected_bytes = 2 * peers * Credit::max_among(ranks);
    usage.bytes =
        sizeof(TcpTransport) + staging_bytes + std::max(tcp::part_bytes, Credit::max_among(ranks)) +
        ranks * (sizeof(Peer) + (job.connections + tcp::others_max) * sizeof(tcp::Address)) +
        shared * of_shared + dedicated * (2 * sizeof(void*) + sizeof(DedicatedConnection)) +
        wires * sizeof(Wire) + post_bytes + unexpected_bytes;
    return usage;
}

// --- Dedicated connections ---

void TcpTransport::dedicate(std::uint64_t context, std::uint32_t streams) {
    WEFT_ASSERT(context != 0 && streams <= streams_max);
    if (streams > 0) dedicated_.push_back({context, streams});
}

std::uint32_t TcpTransport::dedicated_streams(std::uint64_t context) const {
    for (const DedicatedStreams& of : dedicated_) {
        if (of.context == context) return of.streams;
    }
    return 0;
}

bool TcpTransport::carries(const Lane& lane) const {
    return lane.stream.stream() < dedicated_streams(lane.stream.context()) &&
           !peers_[static_cast<std::size_t>(lane.peer)].addresses.empty();
}

tcp::DedicatedConnection* TcpTransport::dedicated_of(Peer& peer, StreamId stream) {
    if (stream.stream() >= dedicated_streams(stream.context())) return nullptr;
    return static_cast<DedicatedConnection*>(&link_at(peer, stream.packed()));
}

Posted TcpTransport::hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                          Token token) {
    auto& dedicated =
        static_cast<DedicatedConnection&>(link_at(peer_of(lane.peer), lane.stream.packed()));
    may_move = moved_bytes_max;
    return dedicated.hold(sends, messages, place, token);
}

void TcpTransport::release(ListPlace& place) {
    may_move = moved_bytes_max;
    DedicatedConnection::release(place);
}

void TcpTransport::fail(ListPlace& place, int error) { DedicatedConnection::fail(place, error); }

void TcpTransport::keep_open(int socket) {
    connector_.for_each_wire(
        [&](Wire& wire) { wire.stays_open = wire.stays_open || wire.fd.get() == socket; });
}

// Closes the dedicated connections of such contexts.
template <class Condition>
void TcpTransport::end_dedicated(Condition is_over, bool in_good_order) {
    for (Peer& peer : peers_) {
        std::erase_if(peer.dedicated, [&](const auto& dedicated) {
            if (!is_over(dedicated->stream().context())) return false;
            if (in_good_order)
                dedicated->part();
            else
                dedicated->drop();
            connector_.forget(*dedicated);
            --links_;
            return true;
        });
    }
}

void TcpTransport::take_back(std::uint64_t context, bool in_good_order) {
    end_dedicated([&](std::uint64_t of) { return of == context; }, in_good_order);
    std::erase_if(dedicated_, [&](const DedicatedStreams& of) { return of.context == context; });
}

// ... of contexts that peers have, and this rank will not get.
void TcpTransport::drop_unwanted_dedicated() {
    end_dedicated([&](std::uint64_t of) { return !contexts.wants(of); }, /*in_good_order=*/true);
}

}  // namespace weft
