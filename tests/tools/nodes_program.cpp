// Ranks on nodes of an emulated cluster, one on each, greet one another with plain sockets: LINKS.
// Over every link and both families of addresses. Status 1 and a sentence when one is not reached.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr in_port_t port = 7000;
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

// Connects as soon as the other node listens, and says who calls.
void greet(const std::string& text) {
    const sockaddr_in6 address = socket_address(text);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const int fd = open_socket();
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            const char name = static_cast<char>(rank);
            if (write(fd, &name, 1) != 1) fail("write to " + text);
            return;  // open until this process ends
        }
        if (errno != ECONNREFUSED) fail("connect to " + text);
        close(fd);
        usleep(10'000);
    }
    fail("connect to " + text);
}

}  // namespace

int main(int, char** argv) {
    rank = std::atoi(std::getenv("WEFT_RANK"));
    const int nodes = std::atoi(std::getenv("WEFT_RANKS"));
    const int links = std::atoi(argv[1]);
    const int listener = listen_anywhere();
    for (int node = 0; node < nodes; ++node) {
        if (node == rank) continue;
        for (const std::string& address : addresses(node, links)) greet(address);
    }
    std::vector<int> greetings(static_cast<std::size_t>(nodes));
    for (int i = 0; i < (nodes - 1) * 2 * links; ++i) {
        const int fd = accept(listener, nullptr, nullptr);
        char name = -1;
        if (fd < 0 || read(fd, &name, 1) != 1) fail("accept");
        ++greetings.at(static_cast<std::size_t>(name));
    }
    std::printf("%d:", rank);
    for (int count : greetings) std::printf(" %d", count);
    std::printf("\n");
}
