#include "algorithm/family.h"

namespace weft::algorithm {
namespace {

Layout layout_of(Buffer buffer, Blocks blocks, const Agreed& agreed, Rank rank,
                 std::span<const std::int64_t> offsets) {
    Layout layout;
    layout.buffer = buffer;
    layout.bytes = agreed.block_bytes(rank);
    layout.count = blocks == Blocks::all ? agreed.ranks : static_cast<Rank>(blocks);
    if (blocks == Blocks::all && !agreed.sizes.empty()) {
        layout.sizes = agreed.sizes;
        layout.offsets = offsets;
    }
    return layout;
}

}  // namespace

Problem Family::problem(const Agreed& agreed, Rank rank, bool is_call_in_place,
                        std::span<const std::int64_t> offsets) const {
    WEFT_ASSERT(blocks_differ == !agreed.sizes.empty() && offsets.size() == agreed.sizes.size());
    Problem problem;
    problem.agreed = agreed;
    problem.agreed.collective = collective;
    problem.rank = rank;
    const bool is_root = rank == agreed.root;
    problem.send =
        layout_of(Buffer::send, is_root ? send.root : send.others, agreed, rank, offsets);
    problem.recv =
        layout_of(Buffer::recv, is_root ? recv.root : recv.others, agreed, rank, offsets);
    const bool has_one_buffer = in_place == InPlace::root_has_one_buffer && is_root;
    problem.in_place = has_one_buffer || (is_call_in_place && is_in_place_on(is_root));
    if (!problem.in_place) return problem;
    // A single block lies within the other buffer, as this rank's block.
    const bool send_is_given = in_place != InPlace::recv_at_root;
    Layout& shared = send_is_given ? problem.send : problem.recv;
    const Layout& other = send_is_given ? problem.recv : problem.send;
    if (shared.count < other.count) shared.offset = other.block(rank).offset;
    shared.buffer = other.buffer;
    return problem;
}

std::vector<Problem> Family::problems(const Agreed& agreed, bool is_call_in_place,
                                      std::span<const std::int64_t> offsets) const {
    std::vector<Problem> all;
    for (Rank rank = 0; rank < agreed.ranks; ++rank) {
        all.push_back(problem(agreed, rank, is_call_in_place, offsets));
    }
    return all;
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
