// Reductions along trees, and by a reduce-scatter and a gather.
#include "algorithm/trees.h"
#include "algorithm/algorithm.h"
#include "algorithm/rank_order.h"
#include "algorithm/segments.h"
#include "shape/power.h"

namespace weft::algorithm {

static void binomial(const Problem& in, ScheduleBuilder& schedule) {
    reduce_to_root(in, 1, schedule);
}

// Reduction along a binomial tree: every rank combines its children's operands with its own and
// sends the result to its parent. Any number of ranks, any root. For operations that do not commute
// the tree starts from rank 0, which keeps operands in rank order; rank 0 then sends the result to
// the root.
extern const Algorithm reduce_binomial = {
    .name = "binomial",
    .source = thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log2(a.ranks) + (!a.commutative && a.root != 0 ? 1 : 0);
    },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = binomial,
};

static void knomial(const Problem& in, ScheduleBuilder& schedule) {
    reduce_to_root(in, in.agreed.tuning.ports, schedule);
}

// Reduction along a tree in which a rank receives from k children at a time, with k ports, and
// combines their operands. Any number of ranks, any root, also for operations that do not commute.
extern const Algorithm reduce_knomial = {
    .name = "knomial",
    .source = wilkins_2023,
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks) + (!a.commutative && a.root != 0 ? 1 : 0);
    },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = knomial,
};

static void bine(const Problem& in, ScheduleBuilder& schedule) {
    const Tree tree = bine_tree(in.rank, in.ranks(), in.root());
    reduce_along(tree, /*ports=*/1, in.send.block(), in.recv.block(), schedule);
}

// Reduction along a Bine tree, which has a binomial tree's rounds and messages, but shorter ways:
// ranks at numbers in base -2 whose lowest digits are complements of each other are parent and
// child. Every rank combines its children's operands with its own and sends the result to its
// parent. Any number of ranks, any root; the operation has to commute, because subtrees lie on both
// sides of their top.
extern const Algorithm reduce_bine = {
    .name = "bine",
    .source = de_sensi_2025,
    .needs = {.commutative = true},
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = bine,
};

static void reduce_scatter_gather(const Problem& in, ScheduleBuilder& schedule) {
    const Region operand = in.send.block();
    const Region into = in.recv.block();
    const Region mine = in.is_root()
                            ? part_of_rank(in.agreed, into, in.rank)
                            : schedule.scratch(part_of_rank(in.agreed, operand, in.rank).bytes);
    const Scattered first = reduce_scatter_in_rank_order(in, operand, mine, schedule);
    if (!in.is_root()) {
        schedule.send(mine, in.root(), {first.result, first.last_sent});
        return;
    }
    for (Rank from = 0; from < in.ranks(); ++from) {
        if (from == in.rank) continue;
        const OpId unread = in.in_place ? first.sent[static_cast<std::size_t>(from)] : no_op;
        schedule.recv(part_of_rank(in.agreed, into, from), from, {unread});
    }
}

// Reduce in p - 1 steps and p - 1 messages to the root: the vector is cut into one block per rank.
// In step i rank r sends block r + i to rank r + i, which combines what it gets in rank order and
// sends the result to the root. Any number of ranks, any root, also for operations that do not
// commute; blocks hold whole elements and may be empty.
extern const Algorithm reduce_reduce_scatter_gather = {
    .name = "reduce_scatter_gather",
    .source = thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t {
        return a.ranks > 1 ? a.ranks : 0;
    },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = reduce_scatter_gather,
};

}  // namespace weft::algorithm
