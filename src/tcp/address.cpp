#include "tcp/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "base/setting.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>

namespace weft::tcp {
namespace {

sockaddr_in& as_v4(Address& a) { return reinterpret_cast<sockaddr_in&>(a.storage); }
sockaddr_in6& as_v6(Address& a) { return reinterpret_cast<sockaddr_in6&>(a.storage); }

class Interfaces {
  public:
    Interfaces() {
        ifaddrs* list = nullptr;
        if (getifaddrs(&list) == 0)
            list_.reset(list);
        else
            error_ = errno;
    }

    Status status() const {
        if (error_ == 0) return ok;
        if (error_ == EMFILE || error_ == ENFILE)
            return failure(WEFT_REFUSED_MEMORY, "no descriptor to list network interfaces: %s",
                           strerror(error_));
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot list network interfaces: %s",
                       strerror(error_));
    }

    // The interface's first address of this family that other machines can use.
    std::optional<Address> find(const std::string& name, int family) const {
        for (const ifaddrs* i = list_.get(); i; i = i->ifa_next) {
            if (i->ifa_name == name && is_usable(*i) && i->ifa_addr->sa_family == family)
                return Address::of(i->ifa_addr);
        }
        return std::nullopt;
    }

    // The interface with this address.
    std::optional<std::string> owner(const Address& address) const {
        for (const ifaddrs* i = list_.get(); i; i = i->ifa_next) {
            if (is_usable(*i) && Address::of(i->ifa_addr).host() == address.host())
                return std::string(i->ifa_name);
        }
        return std::nullopt;
    }

    // Those that run and lead to other machines, perhaps some of them twice.
    std::vector<std::string> all_outward() const {
        std::vector<std::string> names;
        for (const ifaddrs* i = list_.get(); i; i = i->ifa_next) {
            constexpr unsigned mask = IFF_RUNNING | IFF_LOOPBACK | IFF_POINTOPOINT;
            if (is_usable(*i) && (i->ifa_flags & mask) == IFF_RUNNING && !is_bridge(i->ifa_name))
                names.emplace_back(i->ifa_name);
        }
        return names;
    }

    // In the kernel's order, the first with all of `flags` and none of `not_flags`, perhaps a
    // bridge.
    std::optional<std::string> first(unsigned flags, unsigned not_flags, bool may_be_bridge) const {
        for (const ifaddrs* i = list_.get(); i; i = i->ifa_next) {
            if (is_usable(*i) && (i->ifa_flags & (flags | not_flags)) == flags &&
                (may_be_bridge || !is_bridge(i->ifa_name)))
                return std::string(i->ifa_name);
        }
        return std::nullopt;
    }

  private:
    // A link-local address would need the interface's number on the other machine.
    static bool is_usable(const ifaddrs& i) {
        if (!i.ifa_addr || (i.ifa_flags & IFF_UP) == 0) return false;
        if (i.ifa_addr->sa_family == AF_INET) return true;
        return i.ifa_addr->sa_family == AF_INET6 &&
               !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6*>(i.ifa_addr)->sin6_addr);
    }

    // Bridges are mostly there for containers or virtual machines of this machine.
    static bool is_bridge(const char* name) {
        const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        ethtool_drvinfo driver{};
        driver.cmd = ETHTOOL_GDRVINFO;
        ifreq request{};
        strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
        request.ifr_data = reinterpret_cast<char*>(&driver);
        return socket && ioctl(socket.get(), SIOCETHTOOL, &request) == 0 &&
               std::string_view(driver.driver) == "bridge";
    }

    struct Free {
        void operator()(ifaddrs* list) const { freeifaddrs(list); }
    };
    std::unique_ptr<ifaddrs, Free> list_;
    int error_ = 0;  // why they could not be listed
};

Result<Address> address_of(const std::string& word, const Interfaces& interfaces) {
    if (std::optional<Address> address = Address::parse_host(word)) return *address;
    WEFT_RETURN_IF_NOT_OK(interfaces.status());
    const bool wants_v6 = word.ends_with(":6");
    const std::string name = wants_v6 ? word.substr(0, word.size() - 2) : word;
    std::optional<Address> address;
    if (!wants_v6) address = interfaces.find(name, AF_INET);
    if (!address) address = interfaces.find(name, AF_INET6);
    if (address) return *address;
    if (word == "lo") {
        // The program's user has perhaps never heard of the setting.
        return failure(WEFT_REFUSED_SETTING,
                       "the loopback interface lo is not up or has no address; ranks that weft run "
                       "starts on one machine use it (WEFT_INTERFACES chooses another)");
    }
    return failure(WEFT_REFUSED_SETTING,
                   "WEFT_INTERFACES names '%s'; this machine has no such interface that is up and "
                   "has an %saddress",
                   word.c_str(), wants_v6 ? "IPv6 " : "");
}

}  // namespace

Address Address::of(const sockaddr* from) {
    Address address;
    address.length = from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    memcpy(&address.storage, from, address.length);
    return address;
}

std::optional<Address> Address::parse_host(const std::string& text) {
    Address address;
    if (inet_pton(AF_INET, text.c_str(), &as_v4(address).sin_addr) == 1) {
        address.storage.ss_family = AF_INET;
        address.length = sizeof(sockaddr_in);
        return address;
    }
    if (inet_pton(AF_INET6, text.c_str(), &as_v6(address).sin6_addr) == 1) {
        address.storage.ss_family = AF_INET6;
        address.length = sizeof(sockaddr_in6);
        return address;
    }
    return std::nullopt;
}

bool Address::is_loopback() const {
    auto& self = const_cast<Address&>(*this);
    if (family() == AF_INET) return ntohl(as_v4(self).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&as_v6(self).sin6_addr);
}

bool Address::is_link_local() const {
    auto& self = const_cast<Address&>(*this);
    return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&as_v6(self).sin6_addr);
}

void Address::set_port(std::uint16_t port) {
    if (family() == AF_INET)
        as_v4(*this).sin_port = htons(port);
    else
        as_v6(*this).sin6_port = htons(port);
}

std::uint16_t Address::port() const {
    auto& self = const_cast<Address&>(*this);
    return ntohs(family() == AF_INET ? as_v4(self).sin_port : as_v6(self).sin6_port);
}

std::string Address::host() const {
    auto& self = const_cast<Address&>(*this);
    char host[INET6_ADDRSTRLEN] = "";
    if (family() == AF_INET)
        inet_ntop(AF_INET, &as_v4(self).sin_addr, host, sizeof host);
    else
        inet_ntop(AF_INET6, &as_v6(self).sin6_addr, host, sizeof host);
    return host;
}

std::string Address::text() const {
    const std::string port_text = ":" + std::to_string(port());
    return family() == AF_INET ? host() + port_text : "[" + host() + "]" + port_text;
}

std::optional<Address> Address::parse(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc{} || stop != end || port == 0) return std::nullopt;
    std::optional<Address> address = parse_host(host);
    if (address) address->set_port(port);
    return address;
}

Result<std::vector<Address>> addresses_of_interfaces(const std::string& text) {
    const Interfaces interfaces;
    std::string words = text;
    if (words.empty()) {
        WEFT_RETURN_IF_NOT_OK(interfaces.status());
        // Tunnels and bridges seldom lead to the other ranks.
        std::optional<std::string> name =
            interfaces.first(IFF_RUNNING, IFF_LOOPBACK | IFF_POINTOPOINT, /*may_be_bridge=*/false);
        if (!name) name = interfaces.first(IFF_RUNNING, IFF_LOOPBACK, /*may_be_bridge=*/true);
        // A new interface is up shortly before it runs.
        if (!name) name = interfaces.first(0, IFF_LOOPBACK, /*may_be_bridge=*/false);
        if (!name) name = interfaces.first(0, IFF_LOOPBACK, /*may_be_bridge=*/true);
        if (!name) name = interfaces.first(IFF_LOOPBACK, 0, /*may_be_bridge=*/true);
        if (!name) return failure(WEFT_REFUSED_UNSUPPORTED, "no network interface is up");
        words = *name;
    }
    std::vector<Address> addresses;
    for (std::string_view list = words; !list.empty();) {
        const std::string word(take_until(list, ","));
        Result<Address> address = address_of(word, interfaces);
        if (!address.is_ok()) return address.status();
        addresses.push_back(*address);
    }
    return addresses;
}

std::vector<Address> addresses_besides(const Address& first, std::size_t most) {
    const Interfaces interfaces;
    std::vector<Address> found;
    std::vector<std::string> seen;
    if (const std::optional<std::string> own = interfaces.owner(first)) {
        seen.push_back(*own);
        const int other_family = first.family() == AF_INET ? AF_INET6 : AF_INET;
        if (const std::optional<Address> other = interfaces.find(*own, other_family);
            other && most > 0)
            found.push_back(*other);
    }
    for (const std::string& name : interfaces.all_outward()) {
        if (found.size() == most || std::ranges::find(seen, name) != seen.end()) continue;
        seen.push_back(name);
        std::optional<Address> address = interfaces.find(name, first.family());
        if (!address)
            address = interfaces.find(name, first.family() == AF_INET ? AF_INET6 : AF_INET);
        if (address) found.push_back(*address);
    }
    return found;
}

}  // namespace weft::tcp
