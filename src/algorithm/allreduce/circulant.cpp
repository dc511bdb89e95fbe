// Allreduce over a circulant graph: the vector is cut into one block per rank; a reduce-scatter is
// followed by an allgather. Any number of ranks; blocks hold whole elements and may be empty. The
// operation commutes.
#include <algorithm>
#include <vector>

#include "algorithm/places.h"
#include "shape/blocks.h"
#include "shape/circulant.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

// The blocks of the vector.
struct Blocks {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;

    explicit Blocks(const Agreed& a) {
        for (Rank i = 0; i < a.ranks; ++i) {
            const Block block = block_of(a.bytes / a.element_bytes, a.ranks, i);
            sizes.push_back(block.count * a.element_bytes);
            offsets.push_back(block.first * a.element_bytes);
        }
    }
    Layout in(Region vector) const {
        return {.buffer = vector.buffer,
                .count = static_cast<Rank>(sizes.size()),
                .offset = vector.offset,
                .list = {sizes, offsets}};
    }
};

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Blocks blocks(in.agreed);
    const std::vector<Rank> skips = circulant_skips(in.ranks());
    const Places from(blocks.in(in.send.block()), in.rank);
    const Places into(blocks.in(in.recv.block()), in.rank);
    const Region own = into.place(0);
    const Reduced reduced = reduce_scatter_places(from, skips, own, in.in_place, schedule);
    gather_places(into, skips, {own, reduced.result, reduced.result}, reduced.read, schedule);
    return ok;
}

std::int64_t sent_bytes(const Agreed& a) {
    if (a.ranks == 1) return 0;
    const Blocks blocks(a);
    std::vector<std::int64_t> sent = gather_bytes(blocks.sizes, circulant_skips(a.ranks));
    for (std::size_t r = 0; r < sent.size(); ++r) sent[r] += a.bytes - blocks.sizes[r];
    return std::ranges::max(sent);
}

}  // namespace

extern const Algorithm allreduce_circulant = {
    .name = "circulant",
    .source =
        "Traff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
        "arXiv:2410.14234",
    .needs = {.commutative = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
