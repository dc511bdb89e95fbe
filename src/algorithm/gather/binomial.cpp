// Gather along a binomial tree: every rank collects the blocks of its subtree and passes them on in
// one message. The root gets only ceil(log2 ranks) messages, but blocks are sent several times: for
// small blocks. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(binomial_tree(in.rank, in.ranks(), in.root()), in, schedule);
    return ok;
}

}  // namespace

extern const Algorithm gather_binomial = {
    .name = "binomial",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * knomial_subtree_max(a.ranks, 2); },
    .build = build,
};

}  // namespace weft::algorithm
