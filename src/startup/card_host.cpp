#include "startup/card_host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/setting.h"
#include "startup/call_host.h"

namespace weft {
namespace {

constexpr int waiting_callers_max = 4096;  // in the kernel's queue: all ranks may call at once
constexpr std::int64_t caller_patience_ns = 3 * second_ns;
constexpr std::int64_t last_answers_ns = 5 * second_ns;  // after rank 0 has hung up
constexpr std::size_t strangers_max = 128;               // at once, besides the ranks

// A socket for both families, or for IPv4 where there is no IPv6. None, and errno: the port is
// taken, or cannot be used.
Fd listen_everywhere(std::uint16_t port) {
    const int on = 1;
    const int off = 0;
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = htons(port);
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = htons(port);
    constexpr int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    Fd socket(::socket(AF_INET6, type, 0));
    const bool has_ipv6 = static_cast<bool>(socket);
    if (!socket && errno == EAFNOSUPPORT) socket = Fd(::socket(AF_INET, type, 0));
    if (!socket) return socket;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (has_ipv6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const auto* const any = has_ipv6 ? reinterpret_cast<const sockaddr*>(&any6)
                                     : reinterpret_cast<const sockaddr*>(&any4);
    if (bind(socket.get(), any, has_ipv6 ? sizeof any6 : sizeof any4) == 0 &&
        listen(socket.get(), waiting_callers_max) == 0)
        return socket;
    return Fd();
}

}  // namespace

CardHost::CardHost(const JobRank& place, const JobKey& greeting, const JobKey& salt)
    : ranks_(static_cast<std::size_t>(place.ranks)),
      timeout_ns_(place.timeout_ns),
      greeting_(greeting),
      cards_(salt, ranks_) {}

CardHost::~CardHost() {
    if (thread_.joinable()) thread_.join();
}

Result<std::unique_ptr<CardHost>> CardHost::open(const JobRank& place, const MeetingPoint& point,
                                                 const JobKey& greeting, const JobKey& salt) {
    std::unique_ptr<CardHost> host(new CardHost(place, greeting, salt));
    int error = 0;
    for (const std::uint16_t port : point.ports) {
        host->listener_ = listen_everywhere(port);
        if (host->listener_) return host;
        error = errno;
        const bool is_last = port == point.ports.back();
        if (error != EADDRINUSE || is_last || !is_of_same_job(port, greeting)) continue;
        return failure(WEFT_REFUSED_STATE,
                       "another job of the same names is starting on this host, at port %u (%s): "
                       "each needs a port of its own",
                       port, point.said_by.c_str());
    }
    return failure(WEFT_REFUSED_STATE, "rank 0 cannot listen at %s (%s): %s",
                   point.ports_text().c_str(), point.said_by.c_str(), error_text(error).c_str());
}

Result<Fd> CardHost::start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for a socket: %s",
                       error_text(errno).c_str());
    }
    // (As Fds, neither end is one of the standard streams, into which the program prints.)
    Fd own(ends[0]);
    Fd served(ends[1]);
    if (!own || !served)
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for a socket: %s",
                       error_text(errno).c_str());
    cards_.join(0, served.release());
    const auto main = [this] {
        try {
            serve();
        } catch (const std::bad_alloc&) {
            // All ranks wait until their time is up.
        }
    };
    if (const int error = thread_.start(main); error != 0) {
        return failure(WEFT_REFUSED_MEMORY, "no thread to serve the other ranks: %s",
                       strerror(error));
    }
    return own;
}

void CardHost::serve() {
    std::int64_t waiting_since_ns = now_ns();
    std::int64_t left_ns = 0;  // when rank 0 hung up
    for (;;) {
        const std::int64_t now = now_ns();
        std::int64_t until_ns = now + second_ns;
        if (const std::optional<std::size_t> rank = cards_.awaited(); !rank) {
            waiting_since_ns = now;
        } else if (now - waiting_since_ns >= timeout_ns_) {
            cards_.give_up(*rank);
        } else {
            until_ns = std::min(until_ns, waiting_since_ns + timeout_ns_);
        }
        if (cards_.has_left(0)) {
            if (left_ns == 0) left_ns = now;
            if (!cards_.has_answers() || now - left_ns > last_answers_ns) return;
        }
        drop_slow_callers(now);
        if (!callers_.empty()) until_ns = std::min(until_ns, callers_.front().deadline_ns);
        wait_for_events(until_ns);
        if (!cards_.awaited()) continue;
        // One that has left can ask no more, so that nobody need wait for it.
        for (std::size_t rank = 1; rank < ranks_; ++rank) {
            if (!cards_.has_left(rank)) continue;
            cards_.rank_ended(rank);  // now all that wait are answered
            break;
        }
    }
}

void CardHost::wait_for_events(std::int64_t until_ns) {
    // (Of ranks that are here: poll() takes no more entries than a process may have descriptors.)
    std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const pollfd entry = cards_.interest(rank);
        if (entry.fd < 0) continue;
        entries.push_back(entry);
        ranks.push_back(rank);
    }
    for (const Unproven& caller : callers_)
        entries.push_back({caller.socket.get(), caller.events, 0});
    const std::int64_t left_ns = std::max<std::int64_t>(0, until_ns - now_ns());
    if (poll(entries.data(), entries.size(), static_cast<int>(left_ns / 1'000'000 + 1)) <= 0)
        return;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (const short events = entries[1 + i].revents; events != 0)
            cards_.on_ready(ranks[i], events);
    }
    for (std::size_t i = 0; i < callers_.size(); ++i) {
        if (entries[1 + ranks.size() + i].revents != 0) hear(callers_[i]);
    }
    std::erase_if(callers_, [](const Unproven& caller) { return !caller.socket; });
    if (entries[0].revents != 0) accept_callers();
}

void CardHost::accept_callers() {
    for (std::size_t i = 0; i < ranks_ + strangers_max; ++i) {
        if (callers_.size() >= ranks_ + strangers_max) make_room();
        Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno == EAGAIN) return;
            if ((errno == EMFILE || errno == ENFILE) && !std::exchange(said_shortage_, true)) {
                std::fprintf(stderr, "weft: rank 0 cannot accept another rank's call: %s\n",
                             error_text(errno).c_str());
            }
            // Without a descriptor, a caller makes room, or others of this process do.
            if (callers_.empty()) return static_cast<void>(usleep(10'000));
            make_room();
            continue;
        }
        callers_.push_back(
            {std::move(socket),
             tcp::Handshake::listener(greeting_, /*own=*/0, static_cast<Rank>(ranks_)),
             now_ns() + caller_patience_ns, POLLIN});
    }
}

// Drops the oldest caller that has said nothing, if there is one. (A rank calls again.)
void CardHost::make_room() {
    const auto silent = std::ranges::find_if(
        callers_, [](const Unproven& caller) { return caller.handshake.hello() == nullptr; });
    callers_.erase(silent != callers_.end() ? silent : callers_.begin());
}

void CardHost::drop_slow_callers(std::int64_t now) {
    for (Unproven& caller : callers_) {
        if (caller.deadline_ns > now) continue;
        hear(caller);  // perhaps it is this thread that is slow
        caller.socket = {};
    }
    std::erase_if(callers_, [](const Unproven& caller) { return !caller.socket; });
}

// A caller without a socket has been heard.
void CardHost::hear(Unproven& caller) {
    caller.events = tcp::advance(caller.handshake, caller.socket.get());
    if (caller.events != 0) return;
    if (caller.handshake.state() == tcp::Handshake::State::proven) take_in(caller);
    caller.socket = {};
}

void CardHost::take_in(Unproven& caller) {
    if (caller.handshake.hello()->connection == probing_connection) return;
    const auto rank = static_cast<std::size_t>(caller.handshake.hello()->from);
    if (cards_.has_joined(rank)) {
        const std::uint32_t words[] = {static_cast<std::uint32_t>(WireAnswer::rank_taken),
                                       static_cast<std::uint32_t>(rank)};
        (void)send(caller.socket.get(), words, sizeof words, MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    const int on = 1;
    (void)setsockopt(caller.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const WireAnswer joined = WireAnswer::joined;
    (void)send(caller.socket.get(), &joined, sizeof joined, MSG_NOSIGNAL | MSG_DONTWAIT);
    cards_.join(rank, caller.socket.release());
}

}  // namespace weft
