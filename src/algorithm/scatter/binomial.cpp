// Scatter along a binomial tree: every rank gets the blocks of its subtree in one message. Any number
// of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const ScatterArgs& in, ScheduleBuilder& schedule) {
    scatter_along(binomial_tree(in.rank, in.ranks, in.root), in, schedule);
    return ok;
}

}  // namespace

extern const Algorithm scatter_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](Size s) -> std::int64_t { return ceil_log2(s.ranks); },
    .sent_messages_max = [](Size s) -> std::int64_t { return ceil_log2(s.ranks); },
    .sent_bytes_max = [](Size s) { return s.bytes * (s.ranks - 1); },
    .build = builds<build>,
};

}  // namespace weft::algorithm
