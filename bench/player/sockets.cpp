#include "bench/player/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "bench/player/players.h"

namespace weft::bench {
namespace {

void must_not_fail(bool failed, const char* call) {
    if (failed) fail("plain sockets: %s: %s", call, std::strerror(errno));
}

std::array<char, 256> own_host() {
    std::array<char, 256> host{};
    must_not_fail(gethostname(host.data(), host.size() - 1) != 0, "gethostname");
    return host;
}

sockaddr_in loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

sockaddr_in network_address() {
    ifaddrs* list = nullptr;
    must_not_fail(getifaddrs(&list) != 0, "getifaddrs");
    sockaddr_in found{};
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        const bool is_usable = (entry->ifa_flags & IFF_UP) != 0 &&
                               (entry->ifa_flags & IFF_LOOPBACK) == 0 &&
                               entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET;
        if (!is_usable) continue;
        std::memcpy(&found, entry->ifa_addr, sizeof found);
        break;
    }
    freeifaddrs(list);
    if (found.sin_family != AF_INET) {
        fail("plain sockets: %s has no network interface with an IPv4 address", own_host().data());
    }
    found.sin_port = 0;
    return found;
}

bool are_on_one_host(const Job& job) {
    const auto hosts = gather(job, std::vector{own_host()});
    return hosts[0] == hosts[1];
}

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

bool is_same(const sockaddr_in& one, const sockaddr_in& other) {
    return one.sin_port == other.sin_port && one.sin_addr.s_addr == other.sin_addr.s_addr;
}

// The connection from the other rank; others are dropped.
int accept_from(int listener, const sockaddr_in& peer) {
    for (;;) {
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const int fd = accept4(listener, generic(from), &length, SOCK_CLOEXEC);
        must_not_fail(fd < 0, "accept");
        if (is_same(from, peer)) return fd;
        close(fd);
    }
}

// How many bytes moved; 0: none can move now. Any other error ends the process.
std::size_t moved(ssize_t bytes, const char* call) {
    if (bytes > 0) [[likely]]
        return static_cast<std::size_t>(bytes);
    if (bytes == 0) fail("plain sockets: the other rank has closed its connection");
    must_not_fail(errno != EAGAIN && errno != EINTR, call);
    return 0;
}

}  // namespace

void Sockets::connect_ranks() {
    sockaddr_in mine = are_on_one_host(job_) ? loopback() : network_address();
    const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must_not_fail(bound < 0, "socket");
    must_not_fail(bind(bound, generic(mine), sizeof mine) != 0, "bind");
    if (job_.rank == 0) must_not_fail(listen(bound, 1) != 0, "listen");
    socklen_t length = sizeof mine;
    must_not_fail(getsockname(bound, generic(mine), &length) != 0, "getsockname");
    std::vector<sockaddr_in> all = gather(job_, std::vector{mine});
    fd_ = bound;
    if (job_.rank == 0) {
        fd_ = accept_from(bound, all[1]);
        close(bound);
    } else {
        must_not_fail(connect(fd_, generic(all[0]), sizeof all[0]) != 0, "connect");
    }
    constexpr int on = 1;
    must_not_fail(setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0, "TCP_NODELAY");
    set_blocking(false);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    must_not_fail(epoll_ < 0, "epoll_create1");
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    must_not_fail(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) != 0, "epoll_ctl");
}

Sockets::~Sockets() {
    if (fd_ < 0) return;
    close(epoll_);
    close(fd_);
}

void Sockets::set_blocking(bool blocks) {
    must_not_fail(fcntl(fd_, F_SETFL, blocks ? 0 : O_NONBLOCK) != 0, "O_NONBLOCK");
}

void Sockets::start(const Collective& collective, Case& c) {
    if (fd_ < 0) connect_ranks();
    blocks_ = PlainBlocks(collective, c);
    const bool is_root = job_.rank == 0;
    const bool sends = is_root ? collective.plain.from_root : collective.plain.to_root;
    const bool receives = is_root ? collective.plain.to_root : collective.plain.from_root;
    sum_ = {};
    if (!collective.has_size) {  // even without data there is a message
        static std::array<std::byte, 2> nothing{};
        blocks_ = {};
        if (sends) blocks_.outgoing = std::span(nothing).first(1);
        if (receives) blocks_.incoming = std::span(nothing).last(1);
    } else if (collective.plain.reduces) {
        blocks_ = {};
        if (sends) blocks_.outgoing = c.send.as<const std::byte>();
        if (receives) {
            sum_ = c.recv.as<double>();
            own_terms_ = c.send.as<const double>();
            terms_.resize(sum_.size());
            blocks_.incoming = std::as_writable_bytes(std::span(terms_));
        }
    } else if (!blocks_.own.empty()) {
        std::memcpy(blocks_.own_place, blocks_.own.data(), blocks_.own.size());
    }
    if (waits_ != Waits::blocking) move();
}

bool Sockets::move() {
    std::size_t sent = 0, received = 0;
    std::span<const std::byte>& out = blocks_.outgoing;
    std::span<std::byte>& in = blocks_.incoming;
    if (!out.empty()) sent = moved(send(fd_, out.data(), out.size(), MSG_NOSIGNAL), "send");
    if (!in.empty()) received = moved(recv(fd_, in.data(), in.size(), 0), "recv");
    out = out.subspan(sent);
    in = in.subspan(received);
    return sent + received > 0;
}

bool Sockets::test() {
    move();
    if (!has_ended()) return false;
    add_terms();
    return true;
}

void Sockets::wait() {
    // (With blocking calls both ends must not send at once more than the sockets take.)
    const bool blocks =
        waits_ == Waits::blocking && (blocks_.outgoing.empty() || blocks_.incoming.empty());
    if (blocks) set_blocking(true);
    while (!has_ended()) {
        if (move() || waits_ == Waits::spinning) continue;
        epoll_event event;
        must_not_fail(epoll_wait(epoll_, &event, 1, -1) < 0 && errno != EINTR, "epoll_wait");
    }
    if (blocks) set_blocking(false);
    add_terms();
}

void Sockets::add_terms() {
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] = own_terms_[i] + terms_[i];
    sum_ = {};
}

std::unique_ptr<Player> make_sockets(const Cell& cell, const Job& world, std::string&) {
    using Waits = Sockets::Waits;
    const bool spins = cell.implementation == "sockets:spinning";
    const bool blocks = cell.implementation == "sockets:blocking";
    return std::make_unique<Sockets>(world, spins    ? Waits::spinning
                                            : blocks ? Waits::blocking
                                                     : Waits::sleeping);
}

}  // namespace weft::bench
