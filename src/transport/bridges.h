// Transports to processes of other jobs, which look like one. A process joins one job; for a group
// with processes of others it gets a bridge: transports to the members of that group, which number
// them by their ranks there. Here they have numbers of their own.
//
// Groups that use a bridge work without demands: whoever has something pending there is eager, and
// leaves nothing of it to the program (Group::is_attended).
//
// Thread safety: none; the progress engine's lock covers every call. Nothing here blocks, but the
// destructors of the bridges.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/transport.h"

namespace weft {

class Bridges final : public Transport {
  public:
    struct Bridge {
        std::vector<std::unique_ptr<Transport>> transports;
        std::vector<Transport*> routes;  // by rank of its group; null: this process
        std::vector<Rank> numbers;       // by rank of its group
    };

    // Refused if there are no descriptors.
    static Result<std::unique_ptr<Bridges>> create();

    // Their transports' lanes begin here. REQUIRES: each of its transports can sleep. Refused if
    // there are no descriptors. May throw. Then nothing has happened.
    Status add(std::unique_ptr<Bridge> bridge);
    // REQUIRES: it was added, and has nothing left to do for others. The caller ends it, which may
    // block.
    std::unique_ptr<Bridge> remove(const Bridge& bridge);
    static bool has_work(const Bridge& bridge);

    const char* name() const override { return "bridges"; }
    Usage usage() const override;
    std::uint64_t unexpected_messages() const override;
    std::string vain_call(Rank number) const override {
        const Route& to = route_of(number);
        return to.transport->vain_call(to.rank);
    }
    Abilities abilities() const override { return {.can_sleep = true, .can_signal = can_signal()}; }
    Posted post_send(const Lane& lane, Bytes data, Token token) override {
        const Route& to = route_of(lane.peer);
        return to.transport->post_send({to.rank, lane.stream}, data, token);
    }
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override {
        const Route& from = route_of(lane.peer);
        return from.transport->post_recv({from.rank, lane.stream}, data, token);
    }
    NextMessage next_on(const Lane& lane) override {
        const Route& from = route_of(lane.peer);
        return from.transport->next_on({from.rank, lane.stream});
    }
    std::uint64_t next_changes() const override;
    void expect_from(Rank peer, int change) override {
        const Route& from = route_of(peer);
        from.transport->expect_from(from.rank, change);
    }
    void signal_arrivals(int signal, int thread) override;
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper sleeper) override;
    bool wake_peers() override;
    std::uint64_t pieces_moved() const override;
    bool has_work() const override;
    void list_owed(std::vector<Rank>& peers) const override;
    void cancel_context(std::uint64_t context) override;
    void close_context(std::uint64_t context) override;
    void open_context(std::uint64_t context) override;
    void buffer_unknown(bool keep) override;

  private:
    // A transport of a bridge.
    struct Carrier {
        Transport* transport;
        const Bridge* bridge;
    };
    // How a number is reached; null: it is not.
    struct Route {
        Transport* transport = nullptr;
        Rank rank = -1;  // there
    };

    Bridges() = default;
    const Route& route_of(Rank number) const {
        const Route& route = routes_[static_cast<std::size_t>(number)];
        WEFT_ASSERT(route.transport != nullptr);
        return route;
    }
    bool watch(const Bridge& bridge);
    // All of them can, so far.
    bool can_signal() const;

    std::vector<std::unique_ptr<Bridge>> bridges_;
    std::vector<Carrier> parts_;  // of all bridges
    std::size_t first_ = 0;       // where the next poll begins
    std::vector<Route> routes_;   // by number
    bool keeps_unknown_ = true;
    std::uint64_t removed_changes_ = 0;  // next_changes() of removed bridges: it never falls
    std::array<Fd, 2> sleepers_;         // epoll: the parts' wait_fd()
};

}  // namespace weft
