#include "weft/switch/echo.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/fd.h"
#include "weft/namespaces.h"

namespace weft {
namespace {

constexpr int round_trips = 40;
constexpr int warming_up = 8;
constexpr std::int64_t patience_ns = 1'000'000'000;

// Does not sleep: waking up is the receiver's business, as on any link.
bool pass(const Fd& from, const Fd& to) {
    char message[8] = {};
    if (::send(from.get(), message, sizeof message, MSG_NOSIGNAL) != sizeof message) return false;
    const std::int64_t deadline_ns = now_ns() + patience_ns;
    ssize_t got = -1;
    while (got < 0 && now_ns() < deadline_ns) {
        got = ::recv(to.get(), message, sizeof message, MSG_DONTWAIT);
    }
    return got == sizeof message;
}

void prepare(const Fd& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const timeval patience{patience_ns / 1'000'000'000, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

std::string congestion_of(const Fd& socket) {
    char name[32] = {};
    socklen_t length = sizeof name - 1;
    const bool is_known =
        ::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0;
    return is_known ? name : "unknown";
}

}  // namespace

Echo measure_echo(int from_network, int to_network, const std::string& address) {
    Echo echo;
    const Fd listener(socket_in(to_network, SOCK_STREAM));
    const Fd here(socket_in(from_network, SOCK_STREAM));
    prepare(listener);
    prepare(here);
    sockaddr_in place{};
    socklen_t length = sizeof place;
    place.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &place.sin_addr);
    auto* const generic = reinterpret_cast<sockaddr*>(&place);
    if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), generic, &length) != 0 ||
        ::connect(here.get(), generic, length) != 0) {
        return echo;
    }
    const Fd there(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    prepare(there);
    echo.congestion = congestion_of(there);

    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < round_trips; ++i) {
        const std::int64_t begin_ns = now_ns();
        if (!pass(here, there) || !pass(there, here)) return echo;
        if (i >= warming_up) shortest_ns = std::min(shortest_ns, now_ns() - begin_ns);
    }
    echo.half_round_trip_ns = shortest_ns / 2;
    return echo;
}

}  // namespace weft
