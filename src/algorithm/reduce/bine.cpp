// Reduction along a Bine tree, which has a binomial tree's rounds and messages, but shorter ways: ranks
// at numbers in base -2 whose lowest digits are complements of each other are parent and child. Every
// rank combines its children's operands with its own and sends the result to its parent. Any number of
// ranks, any root; the operation has to commute, because subtrees lie on both sides of their top.
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Tree tree = bine_tree(in.rank, in.ranks(), in.root());
    reduce_along(tree, /*ports=*/1, in.send.block(), in.recv.block(), schedule);
    return ok;
}

}  // namespace

extern const Algorithm reduce_bine = {
    .name = "bine",
    .source =
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (distance halving)",
    .needs = {.commutative = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
