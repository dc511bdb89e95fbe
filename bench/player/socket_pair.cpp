// Connects two ranks, and moves bytes.
#include "bench/player/socket_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::bench {
namespace {

// What a rank sends the other. A connection must know the token.
struct Card {
    std::array<char, 256> host{};
    sockaddr_in address{};
    std::array<std::byte, 16> token{};
};

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

int make_socket(int flags) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    must_not_fail(fd < 0, "socket");
    return fd;
}

// Makes a listening socket; `card` says where it listens.
int listen_at(Card& card) {
    const int fd = make_socket(0);
    must_not_fail(bind(fd, generic(card.address), sizeof card.address) != 0, "bind");
    must_not_fail(listen(fd, 1) != 0, "listen");
    socklen_t length = sizeof card.address;
    must_not_fail(getsockname(fd, generic(card.address), &length) != 0, "getsockname");
    return fd;
}

// The first connection that knows the token; others are dropped.
int accept_peer(int listener, const Card& card) {
    for (;;) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        must_not_fail(fd < 0, "accept");
        constexpr timeval patience{5, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        auto token = card.token;
        token.fill(std::byte{0});
        if (recv(fd, token.data(), token.size(), MSG_WAITALL) == std::ssize(token) &&
            token == card.token) {
            return fd;
        }
        close(fd);
    }
}

int connect_peer(Card& peer) {
    const int fd = make_socket(0);
    must_not_fail(connect(fd, generic(peer.address), sizeof peer.address) != 0, "connect");
    must_not_fail(
        send(fd, peer.token.data(), peer.token.size(), MSG_NOSIGNAL) != std::ssize(peer.token),
        "send");
    return fd;
}

// A transfer that has to wait is not a failure; any other error ends the process.
std::size_t moved(ssize_t bytes, const char* call) {
    if (bytes > 0) [[likely]]
        return static_cast<std::size_t>(bytes);
    if (bytes == 0) fail("plain sockets: the other rank has closed its connection");
    must_not_fail(errno != EAGAIN && errno != EINTR, call);
    return 0;
}

}  // namespace

SocketPair::SocketPair(const Job& job) {
    if (job.ranks != 2) fail("plain sockets connect 2 ranks; this job has %d", job.ranks);
    Card mine;
    mine.address = are_on_one_host(job) ? loopback() : network_address();
    must_not_fail(getrandom(mine.token.data(), mine.token.size(), 0) != std::ssize(mine.token),
                  "getrandom");
    const int listener = job.rank == 0 ? listen_at(mine) : -1;
    Card first = gather(job, std::vector{mine})[0];
    fd_ = job.rank == 0 ? accept_peer(listener, mine) : connect_peer(first);
    if (listener >= 0) close(listener);

    constexpr int on = 1;
    must_not_fail(setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0, "TCP_NODELAY");
    set_blocking(false);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    must_not_fail(epoll_ < 0, "epoll_create1");
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    must_not_fail(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) != 0, "epoll_ctl");
}

SocketPair::~SocketPair() {
    close(epoll_);
    close(fd_);
}

std::size_t SocketPair::send_some(std::span<const std::byte> bytes) {
    return moved(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), "send");
}

std::size_t SocketPair::recv_some(std::span<std::byte> bytes) {
    return moved(recv(fd_, bytes.data(), bytes.size(), 0), "recv");
}

void SocketPair::exchange(std::span<const std::byte> send, std::span<std::byte> recv) {
    while (!send.empty() || !recv.empty()) {
        const std::size_t sent = send.empty() ? 0 : send_some(send);
        const std::size_t received = recv.empty() ? 0 : recv_some(recv);
        send = send.subspan(sent);
        recv = recv.subspan(received);
        if (sent > 0 || received > 0) continue;
        sleep();
    }
}

void SocketPair::set_blocking(bool blocks) {
    must_not_fail(fcntl(fd_, F_SETFL, blocks ? 0 : O_NONBLOCK) != 0, "O_NONBLOCK");
}

void SocketPair::sleep() {
    epoll_event event;
    must_not_fail(epoll_wait(epoll_, &event, 1, -1) < 0 && errno != EINTR, "epoll_wait");
}

}  // namespace weft::bench
