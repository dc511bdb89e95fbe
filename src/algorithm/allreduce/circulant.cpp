// Allreduce over a circulant graph: the vector is cut into one block per rank; a reduce-scatter is
// followed by an allgather. Any number of ranks; blocks hold whole elements and may be empty. The
// operation commutes.
#include <algorithm>
#include <vector>

#include "algorithm/places.h"
#include "algorithm/segments.h"
#include "shape/circulant.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const std::vector<Rank> skips = circulant_skips(in.ranks());
    const std::int64_t element = in.agreed.element_bytes;
    const Places from(in.send.block(), element, in.ranks(), in.rank);
    const Places into(in.recv.block(), element, in.ranks(), in.rank);
    const Region own = into.place(0);
    const Reduced reduced = reduce_scatter_places(from, skips, own, in.in_place, schedule);
    gather_places(into, skips, {own, reduced.result, reduced.result}, reduced.read, schedule);
    return ok;
}

// A rank does not send its own block in the reduce-scatter.
std::int64_t sent_bytes(const Agreed& a) {
    if (a.ranks == 1) return 0;
    std::vector<std::int64_t> sizes;
    for (Rank i = 0; i < a.ranks; ++i)
        sizes.push_back(part_of_rank(a, {.bytes = a.bytes}, i).bytes);
    std::vector<std::int64_t> sent = gather_bytes(sizes, circulant_skips(a.ranks));
    for (std::size_t r = 0; r < sent.size(); ++r) sent[r] += a.bytes - sizes[r];
    return std::ranges::max(sent);
}

}  // namespace

extern const Algorithm allreduce_circulant = {
    .name = "circulant",
    .source =
        "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
        "arXiv:2410.14234",
    .needs = {.commutative = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
