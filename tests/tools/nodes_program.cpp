// Ranks on nodes of an emulated cluster, one on each, greet one another with plain sockets, over
// every link and both families of addresses: LINKS [BYTES]. Status 1 and a sentence when one is not
// reached. With BYTES, each also sends so many to each other, which checks them, and times round
// trips.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace {

constexpr in_port_t port = 7000;
constexpr int round_trips = 4;
constexpr int attempts_max = 3000;  // of 10 ms

int rank;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, what.c_str(), std::strerror(errno));
    std::exit(1);
}

// As docs/cluster.md says them; IPv4 as seen through IPv6 sockets.
std::vector<std::string> addresses(int node, int links) {
    std::vector<std::string> all;
    for (int link = 0; link < links; ++link) {
        const std::string host = std::to_string(node + 1);
        all.push_back("::ffff:10.77." + std::to_string(link) + "." + host);
        all.push_back("fd77:6566:740" + std::to_string(link) + "::" + host);
    }
    return all;
}

sockaddr_in6 socket_address(const std::string& text) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (inet_pton(AF_INET6, text.c_str(), &address.sin6_addr) != 1) fail("address " + text);
    return address;
}

int open_socket() {
    const int fd = socket(AF_INET6, SOCK_STREAM, 0);
    const int no = 0;
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) fail("socket");
    return fd;
}

int listen_anywhere() {
    const int fd = open_socket();
    const sockaddr_in6 any = socket_address("::");
    if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) fail("bind");
    if (listen(fd, 1000) != 0) fail("listen");
    return fd;
}

std::byte nth(std::size_t at) { return static_cast<std::byte>(at * at + at / 256 + 7); }

void write_all(int fd, const void* data, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t sent = send(fd, static_cast<const std::byte*>(data) + done, bytes - done, 0);
        if (sent <= 0) fail("send");
        done += static_cast<std::size_t>(sent);
    }
}

void read_all(int fd, void* data, std::size_t bytes) {
    if (recv(fd, data, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) fail("receive");
}

// Connects as soon as the other node listens, and says who calls.
int greet(const std::string& text) {
    const sockaddr_in6 address = socket_address(text);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const int fd = open_socket();
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            const char name = static_cast<char>(rank);
            write_all(fd, &name, 1);
            return fd;  // open until this process ends
        }
        if (errno != ECONNREFUSED) fail("connect to " + text);
        close(fd);
        usleep(10'000);
    }
    fail("connect to " + text);
}

// Sends this much, then messages to and fro. The shortest round trip, in nanoseconds, without the
// first, which waits for all that was sent.
std::int64_t talk(int fd, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t at = 0; at < bytes; ++at) data[at] = nth(at);
    write_all(fd, data.data(), bytes);
    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < round_trips; ++i) {
        std::int64_t message = i;
        const std::int64_t begin_ns = weft::now_ns();
        write_all(fd, &message, sizeof message);
        read_all(fd, &message, sizeof message);
        if (i > 0) shortest_ns = std::min(shortest_ns, weft::now_ns() - begin_ns);
    }
    return shortest_ns;
}

void listen_to(int fd, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    read_all(fd, data.data(), bytes);
    for (std::size_t at = 0; at < bytes; ++at) {
        if (data[at] != nth(at)) fail("byte " + std::to_string(at) + " is another");
    }
    for (int i = 0; i < round_trips; ++i) {
        std::int64_t message = 0;
        read_all(fd, &message, sizeof message);
        write_all(fd, &message, sizeof message);
    }
}

}  // namespace

int main(int argc, char** argv) {
    rank = std::atoi(std::getenv("WEFT_RANK"));
    const int nodes = std::atoi(std::getenv("WEFT_RANKS"));
    const int links = std::atoi(argv[1]);
    const std::size_t bytes = argc > 2 ? static_cast<std::size_t>(std::atol(argv[2])) : 0;
    const int listener = listen_anywhere();
    std::vector<std::thread> talks;
    std::atomic<std::int64_t> shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (int node = 0; node < nodes; ++node) {
        if (node == rank) continue;
        for (const std::string& address : addresses(node, links)) {
            const int fd = greet(address);
            if (bytes == 0) continue;
            talks.emplace_back([fd, bytes, &shortest_ns] {
                const std::int64_t time_ns = talk(fd, bytes);
                std::int64_t old_ns = shortest_ns;
                while (time_ns < old_ns && !shortest_ns.compare_exchange_weak(old_ns, time_ns)) {
                }
            });
        }
    }
    std::vector<int> greetings(static_cast<std::size_t>(nodes));
    for (int i = 0; i < (nodes - 1) * 2 * links; ++i) {
        const int fd = accept(listener, nullptr, nullptr);
        char name = -1;
        if (fd < 0 || read(fd, &name, 1) != 1) fail("accept");
        ++greetings.at(static_cast<std::size_t>(name));
        if (bytes > 0) talks.emplace_back(listen_to, fd, bytes);
    }
    for (std::thread& talk : talks) talk.join();
    std::printf("%d:", rank);
    for (int count : greetings) std::printf(" %d", count);
    std::printf("\n");
    if (bytes > 0) std::printf("shortest %ld us\n", static_cast<long>(shortest_ns / 1000));
}
