// Gather along a binary tree: every rank collects the blocks of its subtree and passes them on in
// one message. A rank receives from at most two others, but the tree is deeper than a binomial one.
// Any number of ranks, any root.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "algorithm/trees.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(binary_tree(in.rank, in.ranks(), in.root()), in, schedule);
    return ok;
}

// The nearer child's subtree is at least as large: its message comes last.
std::int64_t rounds_of(std::int64_t ranks) {
    const std::int64_t near = ranks / 2;
    const std::int64_t far = ranks - 1 - near;
    if (near == 0) return 0;
    if (far == 0) return 1;
    return std::max(rounds_of(near) + 1, rounds_of(far) + 2);
}

}  // namespace

extern const Algorithm gather_binary = {
    .name = "binary",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) { return rounds_of(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks / 2); },
    .build = build,
};

}  // namespace weft::algorithm
