#include "tcp/route.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

#include "base/fd.h"
#include "base/thread.h"

namespace weft::tcp {
namespace {

// What a thread has looked up, perhaps after the deadline.
struct Lookup {
    std::mutex mutex;
    std::condition_variable ended;
    bool is_over = false;
    int error = 0;  // of getaddrinfo
    std::vector<Address> addresses;
};

int look_up(const std::string& host, int flags, std::vector<Address>& addresses) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    if (error != 0) return error;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
    try {
        for (const addrinfo* i = list; i != nullptr; i = i->ai_next) {
            if (i->ai_family == AF_INET || i->ai_family == AF_INET6)
                addresses.push_back(Address::of(i->ai_addr));
        }
    } catch (const std::bad_alloc&) {
        return EAI_MEMORY;
    }
    return 0;
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& host, std::int64_t deadline_ns) {
    std::vector<Address> given;
    if (look_up(host, AI_NUMERICHOST, given) == 0) return given;
    const auto lookup = std::make_shared<Lookup>();
    Thread thread;
    const int refused = thread.start([lookup, host] {
        std::vector<Address> found;
        const int error = look_up(host, 0, found);
        const std::lock_guard<std::mutex> lock(lookup->mutex);
        lookup->error = error;
        lookup->addresses = std::move(found);
        lookup->is_over = true;
        lookup->ended.notify_all();
    });
    if (refused != 0) {
        return failure(WEFT_REFUSED_MEMORY, "no thread to look up the host '%s': %s", host.c_str(),
                       strerror(refused));
    }
    thread.detach();
    std::unique_lock<std::mutex> lock(lookup->mutex);
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline_ns)};
    if (!lookup->ended.wait_until(lock, until, [&] { return lookup->is_over; })) {
        return failure(WEFT_REFUSED_STATE, "the host '%s' could not be looked up in time",
                       host.c_str());
    }
    if (lookup->error == 0 && !lookup->addresses.empty()) return lookup->addresses;
    return failure(WEFT_REFUSED_STATE, "the host '%s' has no address: %s", host.c_str(),
                   lookup->error != 0 ? gai_strerror(lookup->error) : "none of IPv4 or IPv6");
}

std::optional<Address> address_towards(Address other) {
    constexpr std::uint16_t any_port = 9;
    const Fd socket(::socket(other.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (other.port() == 0) other.set_port(any_port);
    if (!socket || connect(socket.get(), other.get(), other.length) != 0) return std::nullopt;
    return own_address_of(socket.get());
}

std::optional<Address> own_address_of(int socket) {
    Address own;
    own.length = sizeof own.storage;
    if (getsockname(socket, own.get(), &own.length) != 0) return std::nullopt;
    if (own.family() != AF_INET && own.family() != AF_INET6) return std::nullopt;
    own.set_port(0);
    return own;
}

}  // namespace weft::tcp
