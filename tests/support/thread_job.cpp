#include "support/thread_job.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "offload/offload.h"
#include "support/in_call.h"
#include "transport/dedicated.h"

namespace weft::test {

std::vector<EngineKind> engines_for_threads() {
    std::vector<EngineKind> kinds;
    for (const EngineTraits& engine : engine_list) {
        if (!engine.needs_joiner) kinds.push_back(engine.kind);
    }
    return kinds;
}

ThreadJob::ThreadJob(Rank ranks, Options options) {
    if (options.over == Over::shm || options.over == Over::mixed) {
        shm_.emplace(ranks, options.settings);
    }
    if (options.over == Over::mpi) mpi_.emplace(ranks, 1);
#if WEFT_HAS_TCP
    std::optional<TcpRanks> tcp;
    if (options.over == Over::tcp || options.over == Over::mixed) tcp.emplace(ranks, options.tcp);
#endif
#if WEFT_HAS_UCX
    std::optional<UcxRanks> ucx;
    if (options.over == Over::ucx) ucx.emplace(ranks, "tcp", options.ucx, /*alone=*/true);
#endif
    for (Rank rank = 0; rank < ranks; ++rank) {
        Process::Parts parts;
        parts.rank = rank;
        parts.ranks = ranks;
        parts.routes.resize(static_cast<std::size_t>(ranks));
        if (shm_) {
            parts.transports.push_back(shm_->take(rank));
            std::ranges::fill(parts.routes, parts.transports.back().get());
        }
        if (mpi_) {
            parts.transports.push_back(std::move(*mpi_->end(rank, options.mpi)));
            std::ranges::fill(parts.routes, parts.transports.back().get());
        }
#if WEFT_HAS_TCP
        if (tcp) {
            tcp_.push_back(&tcp->at(rank));
            parts.transports.push_back(tcp->take(rank));
            for (Rank peer = 0; peer < ranks; ++peer) {
                const bool is_near = shm_ && peer % 2 == rank % 2;
                if (!is_near) parts.routes[static_cast<std::size_t>(peer)] = tcp_.back();
            }
        }
#endif
#if WEFT_HAS_UCX
        if (ucx) {
            ucx_.push_back(&ucx->at(rank));
            parts.transports.push_back(ucx->take(rank));
            std::ranges::fill(parts.routes, ucx_.back());
        }
#endif
        for (Rank peer = 0; options.over == Over::mixed && peer < ranks; ++peer) {
            parts.nodes.push_back(peer % 2);
        }
        parts.torus = options.torus;
        parts.settings.selector = options.selector;
        parts.checks_calls = options.checks_calls;
        parts.device_memory = options.device_memory;
        parts.engine = {
            .kind = options.engine, .may_spin = options.may_spin, .on_demand = options.on_demand};
#if WEFT_HAS_TCP
        if (tcp && options.dedicates) {
            parts.dedicated = {.streams_left = options.tcp.dedicated_max, .is_wanted = 1};
            const std::vector<DedicatedShare> all(static_cast<std::size_t>(ranks), parts.dedicated);
            parts.world_dedicated = agreed_streams(all);
            parts.offload = make_offload(parts.routes, {.queue_depth = options.queue_depth,
                                                        .has_own_core = options.may_spin,
                                                        .offers_all = options.offers_all});
        }
#endif
        processes_.push_back(std::make_unique<Process>(std::move(parts)));
    }
    for (const auto& process : processes_) ranks_.emplace_back(*process);
}

void ThreadJob::kill(Rank rank) {
    if (shm_) shm_->kill(rank);
#if WEFT_HAS_UCX
    if (!ucx_.empty()) {
        InCall in_call(at(rank).process().engine());
        ucx_[static_cast<std::size_t>(rank)]->hang_up();
    }
#endif
#if WEFT_HAS_TCP
    if (tcp_.empty()) return;
    InCall in_call(at(rank).process().engine());
    tcp_[static_cast<std::size_t>(rank)]->hang_up();
#endif
}

void ThreadJob::connect() {
#if WEFT_HAS_TCP
    if (tcp_.empty()) return;
    run([&](ThreadRank& rank) {
        InCall in_call(rank.process().engine());
        TcpTransport& end = *tcp_[static_cast<std::size_t>(rank.rank())];
        WEFT_ASSERT(end.open_all(now_ns() + 20'000'000'000).is_ok());
    });
#endif
}

void ThreadJob::run(const std::function<void(ThreadRank&)>& body) {
    std::vector<std::thread> threads;
    for (ThreadRank& rank : ranks_) threads.emplace_back([&] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::test
