// Scatter along a binomial tree: every rank gets the blocks of its subtree in one message and sends
// its children theirs. The root sends only ceil(log2 ranks) messages, but blocks are sent several
// times: for small blocks. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    scatter_along(binomial_tree(in.rank, in.ranks(), in.root()), in, schedule);
    return ok;
}

}  // namespace

extern const Algorithm scatter_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
