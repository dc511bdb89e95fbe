#include "support/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/in_call.h"
#include "support/tori.h"

namespace weft::test {

std::vector<Rank> nodes_of(Rank ranks, std::uint64_t seed) {
    Prng random(seed * 7919 + static_cast<std::uint64_t>(ranks));
    const std::uint64_t most = 1 + random.below(static_cast<std::uint64_t>(ranks));
    const bool are_consecutive = random.one_in(2);
    std::vector<Rank> marks;
    for (Rank rank = 0; rank < ranks; ++rank)
        marks.push_back(static_cast<Rank>(random.below(most)));
    if (are_consecutive) std::ranges::sort(marks);
    return marks;
}

World::World(Rank ranks, std::uint64_t seed, SimOptions options,
             const CommunicatorSettings& settings, const Wrap& wrap, bool checks_calls)
    : network_(ranks, seed, options), random_(seed ^ 0x5eed) {
    for (Rank rank = 0; rank < ranks; ++rank) {
        Process::Parts parts;
        parts.rank = rank;
        parts.ranks = ranks;
        std::unique_ptr<Transport> transport = std::make_unique<SimTransport>(network_, rank);
        if (wrap) transport = wrap(rank, std::move(transport));
        parts.routes.assign(static_cast<std::size_t>(ranks), transport.get());
        parts.transports.push_back(std::move(transport));
        parts.nodes = nodes_of(ranks, seed);
        parts.torus.emplace(squarest_torus(ranks));
        parts.settings = settings;
        parts.checks_calls = checks_calls;
        parts.engine.kind = EngineKind::manual;
        processes_.push_back(std::make_unique<Process>(std::move(parts)));
    }
}

Request* World::start(Rank rank, const Call& call) {
    InCall in_call(process(rank).engine());
    Result<Request*> request = world(rank).start(call);
    EXPECT_TRUE(request.is_ok()) << "rank " << rank << ": " << last_detail();
    return request.is_ok() ? *request : nullptr;
}

bool World::step() {
    bool moved = network_.advance();
    std::vector<Rank> order(static_cast<std::size_t>(ranks()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (Rank rank : order) {
        if (network_.is_dead(rank)) continue;
        InCall in_call(process(rank).engine());
        moved |= process(rank).engine().progress();
    }
    return moved;
}

std::vector<weft_status> World::finish(const std::vector<std::pair<Rank, Request*>>& requests) {
    auto unfinished = [&](const std::pair<Rank, Request*>& r) {
        return r.second && !r.second->is_done() && !network_.is_dead(r.first);
    };
    while (std::ranges::any_of(requests, unfinished)) {
        if (step()) continue;
        ADD_FAILURE() << "some requests never complete; pending:\n" << network_.pending();
        return std::vector<weft_status>(requests.size(), WEFT_PENDING);
    }
    std::vector<weft_status> codes;
    for (auto [rank, request] : requests) {
        if (!request || network_.is_dead(rank)) {
            codes.push_back(WEFT_REFUSED_STATE);
            continue;
        }
        InCall in_call(process(rank).engine());
        codes.push_back(request->communicator->settle(*request).code);
    }
    return codes;
}

std::vector<weft_status> World::run_all(const std::function<Call(Rank)>& call_of) {
    std::vector<std::pair<Rank, Request*>> requests;
    for (Rank rank = 0; rank < ranks(); ++rank) requests.push_back({rank, nullptr});
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (std::size_t i : order) {
        requests[i].second = start(requests[i].first, call_of(requests[i].first));
        while (random_.one_in(2)) step();
    }
    return finish(requests);
}

}  // namespace weft::test
