#include "algorithm/family.h"

namespace weft::algorithm {
namespace {

// `neighbors`: those that the buffer has blocks for.
Layout layout_of(Buffer buffer, Blocks blocks, Rank ranks, std::span<const Rank> neighbors,
                 std::int64_t bytes, const BlockList& list) {
    Layout layout;
    layout.buffer = buffer;
    layout.bytes = bytes;
    switch (blocks) {
        case Blocks::none: break;
        case Blocks::one: layout.count = 1; break;
        case Blocks::all: layout.count = ranks; break;
        case Blocks::neighbors: layout.count = static_cast<Rank>(neighbors.size()); break;
    }
    if (blocks == Blocks::all || blocks == Blocks::neighbors) layout.list = list;
    return layout;
}

}  // namespace

Problem Family::problem(const Agreed& agreed, Rank rank, bool is_call_in_place,
                        const OwnBlocks& own) const {
    WEFT_ASSERT((sizes == Sizes::agreed) == !agreed.sizes.empty());
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
    problem.send =
        layout_of(Buffer::send, send_blocks(is_root), agreed.ranks, destinations, bytes, own.send);
    problem.recv =
        layout_of(Buffer::recv, recv_blocks(is_root), agreed.ranks, sources, bytes, own.recv);
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

Promise Family::promise_of(std::span<const Problem> problems) const {
    Promises promises(problems);
    promise(promises);
    return promises.take();
}

const Algorithm* Family::find(std::string_view algorithm) const {
    for (const Algorithm* known : algorithms) {
        if (known->name == algorithm) return known;
    }
    return nullptr;
}

std::string Family::known_names() const {
    std::string names;
    for (const Algorithm* known : algorithms) {
        names += std::string(names.empty() ? "" : ", ") + known->name;
    }
    return names;
}

}  // namespace weft::algorithm
