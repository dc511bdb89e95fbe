// Socket addresses, and which of this machine's to use.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace weft::tcp {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }

    // Of IPv4 or IPv6.
    static Address of(const sockaddr* from);
    // "10.0.0.1", "fd00::1", without a port; nothing for anything else.
    static std::optional<Address> parse_host(const std::string& text);

    // Only this machine can be reached by it.
    bool is_loopback() const;
    // It is valid on one link only, whose interface it does not name.
    bool is_link_local() const;

    void set_port(std::uint16_t port);
    std::uint16_t port() const;
    // "10.0.0.1", "fd00::1"
    std::string host() const;
    // "10.0.0.1:7000", "[fd00::1]:7000"
    std::string text() const;
    // As text() writes it; nothing for anything else.
    static std::optional<Address> parse(const std::string& text);
};

// The addresses to listen on, with port 0, from a list of interfaces and addresses separated by
// commas: "eth0", "eth0:6" (its IPv6 address), "10.0.0.1", "::1". Empty: the first interface that
// runs and is not the loopback interface, bridges and tunnels last; else the first such one that is
// up, else the loopback interface.
Result<std::vector<Address>> addresses_of_interfaces(const std::string& interfaces);

// By which others may reach this machine when they do not by `first`: the same interface's address
// of the other family, and one address of each other interface that runs, without the loopback
// interface, bridges and tunnels, and of `first`'s family if it has one. At most `most`.
std::vector<Address> addresses_besides(const Address& first, std::size_t most);

}  // namespace weft::tcp
