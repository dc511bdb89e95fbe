// Scatter along a tree in which a rank sends to k children at a time, with k ports: every rank gets
// the blocks of its subtree in one message. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    scatter_along(knomial_tree(in.rank, in.ranks(), in.root(), in.agreed.tuning.radix()), in,
                  schedule);
    return ok;
}

}  // namespace

extern const Algorithm scatter_knomial = {
    .name = "knomial",
    .source =
        "Wilkins et al.: Generalized Collective Algorithms for the Exascale Era, 2023, "
        "doi:10.1109/CLUSTER52292.2023.00013",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log(a.tuning.radix(), a.ranks); },
    .sent_messages_max = [](const Agreed& a) { return multiples_below(a.ranks, a.tuning.radix()); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
