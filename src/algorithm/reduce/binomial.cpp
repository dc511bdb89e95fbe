// Reduction along a binomial tree: every rank combines its children's operands with its own and
// sends the result to its parent. Any number of ranks, any root. For operations that do not commute
// the tree starts from rank 0, which keeps operands in rank order; rank 0 then sends the result to
// the root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    reduce_to_root(in, 1, schedule);
    return ok;
}

}  // namespace

extern const Algorithm reduce_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t {
        return ceil_log2(a.ranks) + (!a.commutative && a.root != 0 ? 1 : 0);
    },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
