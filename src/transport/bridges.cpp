#include "transport/bridges.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr Sleeper sleeper_kinds[] = {Sleeper::thread, Sleeper::waiter};

}  // namespace

Result<std::unique_ptr<Bridges>> Bridges::create() {
    std::unique_ptr<Bridges> bridges(new Bridges);
    for (Fd& sleeper : bridges->sleepers_) {
        sleeper = Fd(epoll_create1(EPOLL_CLOEXEC));
        if (!sleeper)
            return failure(WEFT_REFUSED_MEMORY, "no descriptor for an epoll: %s", strerror(errno));
    }
    return bridges;
}

Status Bridges::add(std::unique_ptr<Bridge> bridge) {
    bridges_.reserve(bridges_.size() + 1);
    parts_.reserve(parts_.size() + bridge->transports.size());
    for (std::size_t r = 0; r < bridge->numbers.size(); ++r) {
        const auto number = static_cast<std::size_t>(bridge->numbers[r]);
        if (bridge->routes[r] != nullptr && number >= routes_.size()) routes_.resize(number + 1);
    }
    for (const auto& transport : bridge->transports) {
        transport->open_context(0);
        if (!keeps_unknown_) transport->buffer_unknown(false);
    }
    // (Closing its descriptors ends this again.)
    if (!watch(*bridge))
        return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", strerror(errno));
    for (std::size_t r = 0; r < bridge->numbers.size(); ++r) {
        if (bridge->routes[r] != nullptr)
            routes_[static_cast<std::size_t>(bridge->numbers[r])] = {bridge->routes[r],
                                                                     static_cast<Rank>(r)};
    }
    for (const auto& transport : bridge->transports)
        parts_.push_back({transport.get(), bridge.get()});
    bridges_.push_back(std::move(bridge));
    return ok;
}

bool Bridges::watch(const Bridge& bridge) {
    for (const Sleeper sleeper : sleeper_kinds) {
        for (const auto& transport : bridge.transports) {
            epoll_event event{};
            event.events = EPOLLIN;
            const int fd = transport->wait_fd(sleeper);
            if (epoll_ctl(wait_fd(sleeper), EPOLL_CTL_ADD, fd, &event) != 0) return false;
        }
    }
    return true;
}

std::unique_ptr<Bridges::Bridge> Bridges::remove(const Bridge& bridge) {
    for (const auto& transport : bridge.transports) removed_changes_ += transport->next_changes();
    std::erase_if(parts_, [&](const Carrier& part) { return part.bridge == &bridge; });
    for (std::size_t r = 0; r < bridge.numbers.size(); ++r) {
        if (bridge.routes[r] != nullptr) routes_[static_cast<std::size_t>(bridge.numbers[r])] = {};
    }
    const auto place = std::ranges::find(bridges_, &bridge, &std::unique_ptr<Bridge>::get);
    WEFT_ASSERT(place != bridges_.end());
    std::unique_ptr<Bridge> removed = std::move(*place);
    bridges_.erase(place);
    return removed;
}

bool Bridges::has_work(const Bridge& bridge) {
    return std::ranges::any_of(bridge.transports,
                               [](const auto& transport) { return transport->has_work(); });
}

std::size_t Bridges::poll(std::span<Completion> done) {
    std::size_t taken = 0;
    if (++first_ >= parts_.size()) first_ = 0;
    for (std::size_t i = 0; i < parts_.size() && taken < done.size(); ++i) {
        const Carrier& part = parts_[(first_ + i) % parts_.size()];
        const std::size_t some = part.transport->poll(done.subspan(taken));
        for (Completion& one : done.subspan(taken, some)) {
            if (one.peer >= 0) one.peer = part.bridge->numbers[static_cast<std::size_t>(one.peer)];
        }
        taken += some;
    }
    return taken;
}

std::uint64_t Bridges::next_changes() const {
    std::uint64_t changes = removed_changes_;
    for (const Carrier& part : parts_) changes += part.transport->next_changes();
    return changes;
}

bool Bridges::can_signal() const {
    return std::ranges::all_of(
        parts_, [](const Carrier& part) { return part.transport->abilities().can_signal; });
}

void Bridges::signal_arrivals(int signal, int thread) {
    for (const Carrier& part : parts_) part.transport->signal_arrivals(signal, thread);
}

int Bridges::wait_fd(Sleeper sleeper) const {
    WEFT_ASSERT(sleeper != Sleeper::none);
    return sleepers_[sleeper == Sleeper::thread ? 0 : 1].get();
}

bool Bridges::arm(Sleeper sleeper) {
    bool is_quiet = true;
    for (const Carrier& part : parts_) is_quiet &= part.transport->arm(sleeper);
    return is_quiet;
}

void Bridges::acknowledge(Sleeper sleeper) {
    for (const Carrier& part : parts_) part.transport->acknowledge(sleeper);
}

bool Bridges::wake_peers() {
    bool woke = false;
    for (const Carrier& part : parts_) woke |= part.transport->wake_peers();
    return woke;
}

std::uint64_t Bridges::pieces_moved() const {
    std::uint64_t moved = 0;
    for (const Carrier& part : parts_) moved += part.transport->pieces_moved();
    return moved;
}

bool Bridges::has_work() const {
    return std::ranges::any_of(parts_,
                               [](const Carrier& part) { return part.transport->has_work(); });
}

void Bridges::list_owed(std::vector<Rank>& peers) const {
    for (const Carrier& part : parts_) {
        const auto before = static_cast<std::ptrdiff_t>(peers.size());
        part.transport->list_owed(peers);
        std::ranges::for_each(peers.begin() + before, peers.end(), [&](Rank& peer) {
            peer = part.bridge->numbers[static_cast<std::size_t>(peer)];
        });
    }
}

void Bridges::cancel_context(std::uint64_t context) {
    for (const Carrier& part : parts_) part.transport->cancel_context(context);
}

void Bridges::close_context(std::uint64_t context) {
    for (const Carrier& part : parts_) part.transport->close_context(context);
}

void Bridges::open_context(std::uint64_t context) {
    for (const Carrier& part : parts_) part.transport->open_context(context);
}

void Bridges::buffer_unknown(bool keep) {
    for (const Carrier& part : parts_) part.transport->buffer_unknown(keep);
    keeps_unknown_ = keep;
}

Usage Bridges::usage() const {
    Usage all{.descriptors = sleepers_.size()};
    for (const Carrier& part : parts_) {
        const Usage one = part.transport->usage();
        all.connections += one.connections;
        all.descriptors += one.descriptors;
        all.bytes += one.bytes;
        all.turned_away.insert(all.turned_away.end(), one.turned_away.begin(),
                               one.turned_away.end());
    }
    return all;
}

std::uint64_t Bridges::unexpected_messages() const {
    std::uint64_t messages = 0;
    for (const Carrier& part : parts_) messages += part.transport->unexpected_messages();
    return messages;
}

}  // namespace weft
