// The transports that the conformance tests run over: each as a job of ranks in this thread.
// A new transport adds an entry to transport_worlds().
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "conformance/mpi_world.h"
#include "conformance/shm_world.h"
#if WEFT_HAS_TCP
#include "conformance/tcp_world.h"
#endif
#if WEFT_HAS_UCX
#include "conformance/ucx_world.h"
#endif
#include "lab/sim/sim.h"
#include "lab/wrap/faulty.h"
#include "support/surroundings.h"

namespace weft::test {

// A job of a few ranks, all driven by the calling thread.
struct TransportWorld {
    virtual ~TransportWorld() = default;

    virtual Transport& at(Rank rank) = 0;

    // Lets time pass; the caller polls. False: nothing will ever move again by itself. A world of a
    // real transport answers true.
    virtual bool step() = 0;

    // Ranks can be killed. kill() ends the rank at once; nobody calls its transport again.
    virtual bool can_kill() const { return false; }
    virtual void kill(Rank) {}
};

struct WorldFactory {
    const char* name;
    std::unique_ptr<TransportWorld> (*make)(Rank ranks, std::uint64_t seed);
    bool is_slow = false;       // a world takes milliseconds to be made and ended
    const char* ucx = nullptr;  // UCX's transports; null: it is not used

    // Why this machine has no such world; empty: it has.
    std::string absence() const { return ucx != nullptr ? ucx_absence(ucx) : ""; }
};

inline void PrintTo(const WorldFactory& factory, std::ostream* out) { *out << factory.name; }

class SimWorld final : public TransportWorld {
  public:
    SimWorld(Rank ranks, std::uint64_t seed, SimOptions options) : network_(ranks, seed, options) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(std::make_unique<SimTransport>(network_, rank));
        }
    }

    Transport& at(Rank rank) override { return *ends_[static_cast<std::size_t>(rank)]; }
    bool step() override { return network_.advance(); }
    bool can_kill() const override { return true; }
    void kill(Rank rank) override { network_.kill(rank); }
    bool is_dead(Rank rank) const { return network_.is_dead(rank); }

  private:
    SimNetwork network_;
    std::vector<std::unique_ptr<SimTransport>> ends_;
};

// The simulated network behind wrappers that answer busy and hold completions back.
class FaultyWorld final : public TransportWorld {
  public:
    FaultyWorld(Rank ranks, std::uint64_t seed) : inner_(ranks, seed, {}) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(std::make_unique<FaultyTransport>(
                inner_.at(rank), seed + static_cast<std::uint64_t>(rank), faults));
        }
    }

    Transport& at(Rank rank) override { return *ends_[static_cast<std::size_t>(rank)]; }
    bool step() override {
        bool moves = inner_.step();
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            moves |= !inner_.is_dead(static_cast<Rank>(i)) && ends_[i]->will_move();
        }
        return moves;
    }
    bool can_kill() const override { return true; }
    void kill(Rank rank) override { inner_.kill(rank); }

  private:
    static constexpr FaultyOptions faults{.busy_one_in = 4, .hold_one_in = 3};

    SimWorld inner_;
    std::vector<std::unique_ptr<FaultyTransport>> ends_;
};

template <Buffering buffering, std::uint32_t busy_one_in>
std::unique_ptr<TransportWorld> make_sim_world(Rank ranks, std::uint64_t seed) {
    return std::make_unique<SimWorld>(
        ranks, seed, SimOptions{.buffering = buffering, .busy_one_in = busy_one_in});
}

inline std::unique_ptr<TransportWorld> make_faulty_world(Rank ranks, std::uint64_t seed) {
    return std::make_unique<FaultyWorld>(ranks, seed);
}

// Shared memory, the ranks' ends over one mapping.
class ShmWorld final : public TransportWorld {
  public:
    ShmWorld(Rank ranks, const shm::Settings& settings) : ranks_(ranks, settings) {}

    // As where ranks share cores with each other's threads.
    void demand_nothing(Rank ranks) {
        for (Rank rank = 0; rank < ranks; ++rank) ranks_.at(rank).demand(Demand::none);
    }

    Transport& at(Rank rank) override { return ranks_.at(rank); }
    bool step() override { return true; }
    bool can_kill() const override { return true; }
    void kill(Rank rank) override { ranks_.kill(rank); }

  private:
    ShmRanks ranks_;
};

inline shm::Settings shm_settings(Rank ranks, shm::LargeMethod large) {
    shm::Settings settings = shm::Settings::defaults(static_cast<std::size_t>(ranks));
    settings.large = large;
    return settings;
}
template <shm::LargeMethod large>
std::unique_ptr<TransportWorld> make_shm_world(Rank ranks, std::uint64_t) {
    return std::make_unique<ShmWorld>(ranks, shm_settings(ranks, large));
}
inline std::unique_ptr<TransportWorld> make_shm_on_demand_world(Rank ranks, std::uint64_t) {
    auto world = std::make_unique<ShmWorld>(ranks, shm_settings(ranks, shm::LargeMethod::ring));
    world->demand_nothing(ranks);
    return world;
}
// Rings are often full, and more waits for its receive.
template <shm::LargeMethod large>
std::unique_ptr<TransportWorld> make_shm_small_world(Rank ranks, std::uint64_t) {
    shm::Settings settings = shm_settings(ranks, large);
    settings.ring_bytes = 16 * 1024;
    settings.eager_threshold = 1025;
    return std::make_unique<ShmWorld>(ranks, settings);
}

// The messages of an MPI, in this process.
class MpiWorld final : public TransportWorld {
  public:
    MpiWorld(Rank ranks, std::uint64_t seed, mpi::Settings settings) : mpi_(ranks, seed) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(std::move(*mpi_.end(rank, settings)));
        }
    }

    Transport& at(Rank rank) override { return *ends_[static_cast<std::size_t>(rank)]; }
    bool step() override { return true; }

  private:
    FakeMpi mpi_;
    std::vector<std::unique_ptr<MpiTransport>> ends_;
};

inline std::unique_ptr<TransportWorld> make_mpi_world(Rank ranks, std::uint64_t seed) {
    return std::make_unique<MpiWorld>(ranks, seed, mpi::Settings{});
}
// Nearly everything waits for its receive.
inline std::unique_ptr<TransportWorld> make_mpi_rts_world(Rank ranks, std::uint64_t seed) {
    return std::make_unique<MpiWorld>(ranks, seed, mpi::Settings{.eager_threshold = 16});
}

#if WEFT_HAS_TCP
// Connections over loopback.
class TcpWorld final : public TransportWorld {
  public:
    TcpWorld(Rank ranks, const tcp::Settings& settings) : ranks_(ranks, settings) {}

    Transport& at(Rank rank) override { return ranks_.at(rank); }
    bool step() override { return true; }
    bool can_kill() const override { return true; }
    void kill(Rank rank) override { ranks_.kill(rank); }

  private:
    TcpRanks ranks_;
};

// The ranks end one after the other: who has bytes for one that does not read waits in vain.
inline constexpr std::int64_t tcp_world_timeout_ns = 500'000'000;

inline std::unique_ptr<TransportWorld> make_tcp_world(Rank ranks, std::uint64_t) {
    return std::make_unique<TcpWorld>(
        ranks, tcp::Settings{.interfaces = "127.0.0.1", .peer_timeout_ns = tcp_world_timeout_ns});
}
inline std::unique_ptr<TransportWorld> make_tcp_ipv6_world(Rank ranks, std::uint64_t) {
    return std::make_unique<TcpWorld>(
        ranks, tcp::Settings{.interfaces = "::1", .peer_timeout_ns = tcp_world_timeout_ns});
}
// Several connections a pair, and nearly everything waits for its receive.
inline std::unique_ptr<TransportWorld> make_tcp_lanes_world(Rank ranks, std::uint64_t) {
    return std::make_unique<TcpWorld>(ranks,
                                      tcp::Settings{.interfaces = "127.0.0.1",
                                                    .connections = 3,
                                                    .eager_threshold = 16,
                                                    .peer_timeout_ns = tcp_world_timeout_ns});
}
// As over several links: what waits for its receive is cut into a piece for each.
inline std::unique_ptr<TransportWorld> make_tcp_links_world(Rank ranks, std::uint64_t) {
    return std::make_unique<TcpWorld>(ranks,
                                      tcp::Settings{.interfaces = "127.0.0.1,127.0.0.2,127.0.0.3",
                                                    .eager_threshold = 16,
                                                    .cut_bytes_min = 16,
                                                    .peer_timeout_ns = tcp_world_timeout_ns});
}
// Some streams of two contexts have connections of their own. One that ends is no reason to give its
// peer up while the test may still say why. With rendezvous nearly everything waits for its receive there, too.
template <bool has_rendezvous>
std::unique_ptr<TransportWorld> make_tcp_dedicated_world(Rank ranks, std::uint64_t) {
    auto world = std::make_unique<TcpWorld>(
        ranks, tcp::Settings{.interfaces = "127.0.0.1",
                             .dedicated_rendezvous = has_rendezvous,
                             .eager_threshold = 16,
                             .peer_timeout_ns = 3 * tcp_world_timeout_ns});
    for (Rank rank = 0; rank < ranks; ++rank) {
        world->at(rank).dedicate(1, 3);
        world->at(rank).dedicate(2, 1);
    }
    return world;
}
#endif

#if WEFT_HAS_UCX
class UcxWorld final : public TransportWorld {
  public:
    UcxWorld(Rank ranks, const char* tls, const ucx::Settings& settings, bool can_kill,
             std::vector<int> links = {})
        : ranks_(ranks, tls, settings, /*alone=*/false, std::move(links)), can_kill_(can_kill) {}

    Transport& at(Rank rank) override { return ranks_.at(rank); }
    bool step() override { return true; }
    bool can_kill() const override { return can_kill_; }
    void kill(Rank rank) override { ranks_.kill(rank); }

  private:
    UcxRanks ranks_;
    bool can_kill_;
};

inline std::unique_ptr<TransportWorld> make_ucx_tcp_world(Rank ranks, std::uint64_t) {
    return std::make_unique<UcxWorld>(ranks, "tcp", ucx::Settings{.peer_timeout_ns = 500'000'000},
                                      /*can_kill=*/true);
}
// As over several links, which rank 1 has fewer of: what waits for its receive is cut into a piece for each.
inline std::unique_ptr<TransportWorld> make_ucx_links_world(Rank ranks, std::uint64_t) {
    return std::make_unique<UcxWorld>(
        ranks, "tcp",
        ucx::Settings{.eager_threshold = 16, .cut_bytes_min = 16, .peer_timeout_ns = 500'000'000},
        /*can_kill=*/true, std::vector<int>{2, 1, 2, 2, 2});
}
// Nearly everything waits for its receive. (Shared memory takes a rank for dead when its process is.)
inline std::unique_ptr<TransportWorld> make_ucx_posix_rts_world(Rank ranks, std::uint64_t) {
    return std::make_unique<UcxWorld>(ranks, "posix", ucx::Settings{.eager_threshold = 16},
                                      /*can_kill=*/false);
}
inline std::unique_ptr<TransportWorld> make_ucx_all_world(Rank ranks, std::uint64_t) {
    return std::make_unique<UcxWorld>(ranks, "all", ucx::Settings{}, /*can_kill=*/false);
}
#endif

inline std::vector<WorldFactory> transport_worlds() {
    std::vector<WorldFactory> worlds = {
        {"sim", make_sim_world<Buffering::random, 0>},
        {"sim_buffered", make_sim_world<Buffering::always, 0>},
        {"sim_unbuffered", make_sim_world<Buffering::never, 0>},
        {"sim_busy", make_sim_world<Buffering::random, 3>},
        {"sim_faulty", make_faulty_world},
        {"shm_ring", make_shm_world<shm::LargeMethod::ring>},
        {"shm_on_demand", make_shm_on_demand_world},
        {"shm_vm_readv", make_shm_world<shm::LargeMethod::vm_readv>},
        {"shm_small_ring", make_shm_small_world<shm::LargeMethod::ring>},
        {"shm_small_vm_readv", make_shm_small_world<shm::LargeMethod::vm_readv>},
        {"mpi", make_mpi_world},
        {"mpi_rts", make_mpi_rts_world},
#if WEFT_HAS_TCP
        {"tcp", make_tcp_world, true},
        {"tcp_ipv6", make_tcp_ipv6_world, true},
        {"tcp_lanes", make_tcp_lanes_world, true},
        {"tcp_links", make_tcp_links_world, true},
        {"tcp_dedicated", make_tcp_dedicated_world<false>, true},
        {"tcp_dedicated_rts", make_tcp_dedicated_world<true>, true},
#endif
#if WEFT_HAS_UCX
        {"ucx_tcp", make_ucx_tcp_world, true, "tcp"},
        {"ucx_links", make_ucx_links_world, true, "tcp"},
        {"ucx_posix_rts", make_ucx_posix_rts_world, true, "posix"},
#endif
    };
#if WEFT_HAS_UCX
    if (runs_all()) worlds.push_back({"ucx_all", make_ucx_all_world, true, "all"});
#endif
    return worlds;
}

}  // namespace weft::test
