// Gather along a binomial tree: every rank collects the blocks of its subtree and passes them on in
// one message. Any number of ranks, any root.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(binomial_tree(in.rank, in.ranks(), in.root()), in, schedule);
    return ok;
}

// The largest subtree below the root is the last, unless it is cut short.
std::int64_t sent_bytes(const Agreed& a) {
    std::int64_t largest = 0;
    for (std::int64_t step = 1; step < a.ranks; step *= 2) {
        largest = std::max(largest, std::min(step, a.ranks - step));
    }
    return a.bytes * largest;
}

}  // namespace

extern const Algorithm gather_binomial = {
    .name = "binomial",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
