// Gather on a torus whose links go one way: along a binomial tree over the ranks in the order of a
// path that ends at the root, with one link from each rank to the next. No two messages of a step
// share a link. On a torus where they would, such as one with rows of 10 ranks, the blocks of each
// row are gathered first, then those of the columns.
//
// A rank receives from one child after the other, so that steps do not mix. Small messages may mix,
// if they are sent before they are received.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "algorithm/renumbered.h"
#include "algorithm/trees.h"
#include "shape/power.h"
#include "shape/torus.h"

namespace weft::algorithm {
namespace {

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Torus& torus = *in.agreed.torus;
    const Renumbered call(in, torus.gather_order(in.root()));
    const auto in_order = schedule.within(call.order);
    gather_along(torus.gather_tree(call.problem.rank), call.problem, schedule, /*in_turn=*/true);
}

std::int64_t rounds(const GlobalArgs& a) {
    if (a.torus->gathers_along_path()) return ceil_log2(a.ranks);
    std::int64_t sum = 0;
    for (const Rank size : a.torus->sizes()) sum += ceil_log2(size);
    return sum;
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    if (a.torus->gathers_along_path()) return a.bytes * knomial_subtree_max(a.ranks, 2);
    // In the first dimension with several places, each place stands for a whole plane or row.
    const auto is_several = [](Rank size) { return size > 1; };
    const Rank size = *std::ranges::find_if(a.torus->sizes(), is_several);
    return a.bytes * knomial_subtree_max(size, 2) * (a.ranks / size);
}

}  // namespace

extern const Algorithm gather_torus = {
    .name = "torus",
    .source = kaiser_2009_gather,
    .needs = {.torus = true},
    .rounds = rounds,
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
