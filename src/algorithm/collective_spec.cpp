#include "algorithm/collective_spec.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"

namespace weft::algorithm {
namespace {

Layout layout_of(Buffer buffer, Blocks blocks, Rank number, std::int64_t bytes,
                 const BlockList& list) {
    Layout layout;
    layout.buffer = buffer;
    layout.count = number;
    layout.bytes = bytes;
    if (are_for_each(blocks)) layout.list = list;
    return layout;
}

}  // namespace

Rank number_of(Blocks blocks, Rank ranks, std::span<const Rank> neighbors) {
    switch (blocks) {
        case Blocks::none: return 0;
        case Blocks::one: return 1;
        case Blocks::all: return ranks;
        case Blocks::neighbors: break;
    }
    return static_cast<Rank>(neighbors.size());
}

Problem CollectiveSpec::problem(const GlobalArgs& agreed, Rank rank, bool is_call_in_place,
                                const LocalBlocks& own) const {
    WEFT_ASSERT((sizes == Sizes::known_to_all) == !agreed.sizes.empty());
    WEFT_ASSERT(!(agreed.reproducible && agreed.commutative));
    Problem problem;
    problem.agreed = agreed;
    problem.agreed.collective = collective;
    problem.rank = rank;
    const bool is_root = rank == agreed.root;
    const std::int64_t bytes = agrees_on_sizes() ? agreed.block_bytes(rank) : own.bytes;
    std::span<const Rank> sources;
    std::span<const Rank> destinations;
    if (is_among_neighbors()) {
        problem.neighbors = own.neighbors;
        sources = own.neighbors->sources;
        destinations = own.neighbors->destinations;
    }
    const Blocks sent = send_blocks(is_root);
    const Blocks received = recv_blocks(is_root);
    problem.send =
        layout_of(Buffer::send, sent, number_of(sent, agreed.ranks, destinations), bytes, own.send);
    problem.recv = layout_of(Buffer::recv, received, number_of(received, agreed.ranks, sources),
                             bytes, own.recv);
    // True for neighbors that exist: if there is none, nobody gets the only block.
    const auto is_there = [](Rank to) { return to != no_rank; };
    if (is_among_neighbors() && sent == Blocks::one && std::ranges::none_of(destinations, is_there))
        problem.send.count = 0;
    const bool has_one_buffer = in_place == InPlace::root_has_one_buffer && is_root;
    problem.in_place = has_one_buffer || (is_call_in_place && is_in_place_on(is_root));
    if (!problem.in_place) return problem;
    // A single block lies within the other buffer, as this rank's block.
    const bool send_is_given = in_place != InPlace::recv_at_root;
    Layout& shared = send_is_given ? problem.send : problem.recv;
    const Layout& other = send_is_given ? problem.recv : problem.send;
    shared.buffer = other.buffer;
    if (shared.count < other.count) {
        shared.offset = other.block(rank).offset;
        shared.bytes = other.block(rank).bytes;
    } else if (shared.count == other.count) {
        shared.list = other.list;
    }
    return problem;
}

Postcondition CollectiveSpec::promise_of(std::span<const Problem> problems) const {
    Postconditions promises(problems);
    promise(promises);
    return promises.take();
}

const Algorithm* CollectiveSpec::find(std::string_view algorithm) const {
    for (const Algorithm* known : algorithms) {
        if (known->name == algorithm) return known;
    }
    return nullptr;
}

std::string CollectiveSpec::known_names() const { return names_of(algorithms); }

std::vector<const Algorithm*> CollectiveSpec::flat_algorithms() const {
    std::vector<const Algorithm*> flat;
    std::ranges::copy_if(algorithms, std::back_inserter(flat),
                         [](const Algorithm* known) { return !known->follows_topology; });
    return flat;
}

std::string names_of(std::span<const Algorithm* const> algorithms) {
    std::string names;
    for (const Algorithm* known : algorithms) {
        names += std::string(names.empty() ? "" : ", ") + known->name;
    }
    return names;
}

Postconditions::Postconditions(std::span<const Problem> problems) : problems_(problems) {
    for (const Problem& problem : problems) {
        promise_.send_bytes.push_back(problem.send_bytes());
        promise_.recv_bytes.push_back(problem.recv_bytes());
        std::int64_t origin = 0;
        auto& origins = origins_.emplace_back();
        for (Rank i = 0; i < problem.send.count; ++i) {
            const Region block = problem.send.block(i);
            promise_.before.push_back({problem.rank, block, {problem.rank, problem.rank}, origin});
            origins.push_back(origin);
            origin += block.bytes;
        }
    }
    promise_.element_bytes = problems.front().agreed.element_bytes;
    promise_.commutative = problems.front().agreed.commutative;
    promise_.reproducible = problems.front().agreed.reproducible;
}

void Postconditions::move(BlockOf from, BlockOf into) {
    hold({from.rank, from.rank}, from.block, into);
}

void Postconditions::combine(Sources sources, Rank block, BlockOf into) {
    hold(sources, block, into);
}

void Postconditions::hold(Sources sources, Rank block, BlockOf into) {
    const Region where = problem(into.rank).recv.block(into.block);
    const auto& origins = origins_[static_cast<std::size_t>(sources.first)];
    WEFT_ASSERT(problem(sources.first).send.block(block).bytes == where.bytes);
    promise_.after.push_back({into.rank, where, sources, origins[static_cast<std::size_t>(block)]});
}

}  // namespace weft::algorithm
