// Gathers along trees: every rank collects the blocks of its subtree.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {

static void binomial(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(binomial_tree(in.rank, in.ranks(), in.root()), in, schedule);
}

// Gather along a binomial tree: every rank collects the blocks of its subtree and passes them on in
// one message. The root gets only ceil(log2 ranks) messages, but blocks are sent several times: for
// small blocks. Any number of ranks, any root.
extern const Algorithm gather_binomial = {
    .name = "binomial",
    .source = kaiser_2009_gather,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * knomial_subtree_max(a.ranks, 2); },
    .build = binomial,
};

static void binary(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(binary_tree(in.rank, in.ranks(), in.root()), in, schedule);
}

// The nearer child's subtree is at least as large: its message comes last.
static std::int64_t binary_rounds(std::int64_t ranks) {
    const std::int64_t near = ranks / 2;
    const std::int64_t far = ranks - 1 - near;
    if (near == 0) return 0;
    if (far == 0) return 1;
    return std::max(binary_rounds(near) + 1, binary_rounds(far) + 2);
}

// Gather along a binary tree: every rank collects the blocks of its subtree and passes them on in
// one message. A rank receives from at most two others, but the tree is deeper than a binomial one.
// Any number of ranks, any root.
extern const Algorithm gather_binary = {
    .name = "binary",
    .source = kaiser_2009_gather,
    .rounds = [](const GlobalArgs& a) { return binary_rounds(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks / 2); },
    .build = binary,
};

static void knomial(const Problem& in, ScheduleBuilder& schedule) {
    gather_along(knomial_tree(in.rank, in.ranks(), in.root(), in.agreed.tuning.radix()), in,
                 schedule);
}

// Gather along a tree in which a rank receives from k children at a time, with k ports: every rank
// collects the blocks of its subtree and passes them on in one message. Any number of ranks, any
// root.
extern const Algorithm gather_knomial = {
    .name = "knomial",
    .source = wilkins_2023,
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max =
        [](const GlobalArgs& a) {
            return a.bytes * knomial_subtree_max(a.ranks, a.tuning.radix());
        },
    .build = knomial,
};

}  // namespace weft::algorithm
