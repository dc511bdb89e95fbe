// Allreduces made of two other collectives.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "algorithm/rank_order.h"
#include "algorithm/segments.h"
#include "algorithm/trees.h"
#include "shape/circulant.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void reduce_bcast(const Problem& in, ScheduleBuilder& schedule) {
    const Tree tree = binomial_tree(in.rank, in.ranks(), 0);
    const OpId reduced = reduce_along(tree, 1, in.send.block(), in.recv.block(), schedule);
    const bool must_wait = !tree.parent || in.in_place;
    bcast_along(tree, in.recv.block(), must_wait ? reduced : schedule.start(), schedule);
}

// Allreduce as a reduction to rank 0 and a broadcast from there, along one binomial tree. More
// rounds than recursive doubling, but fewer messages: ranks - 1 each way. Any number of ranks, also
// for operations that do not commute.
extern const Algorithm allreduce_reduce_bcast = {
    .name = "reduce_bcast",
    .source = thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = reduce_bcast,
};

static void reduce_scatter_allgather(const Problem& in, ScheduleBuilder& schedule) {
    const Region into = in.recv.block();
    const Region mine = part_of_rank(in.agreed, into, in.rank);
    const Scattered first = reduce_scatter_in_rank_order(in, in.send.block(), mine, schedule);
    OpId sent = first.last_sent;
    for (Rank step = 1; step < in.ranks(); ++step) {
        sent = schedule.send(mine, around(in.rank, step, in.ranks()), {first.result, sent});
        const Rank from = around(in.rank, -step, in.ranks());
        const OpId unread = in.in_place ? first.sent[static_cast<std::size_t>(from)] : no_op;
        schedule.recv(part_of_rank(in.agreed, into, from), from, {unread});
    }
}

// The first rank's block is the largest, and it sends its own most often.
static std::int64_t sent_bytes(const GlobalArgs& a) {
    if (a.ranks == 1) return 0;
    return a.bytes + (a.ranks - 2) * part_of_rank(a, {.bytes = a.bytes}, 0).bytes;
}

// Allreduce in 2 (p - 1) steps: the vector is cut into one block per rank. In step i of the first
// half rank r sends block r + i to rank r + i, which combines what it gets in rank order; in step i
// of the second half it sends its result to rank r + i. Any number of ranks, also for operations
// that do not commute; blocks hold whole elements and may be empty.
extern const Algorithm allreduce_reduce_scatter_allgather = {
    .name = "reduce_scatter_allgather",
    .source = thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_bytes_max = sent_bytes,
    .build = reduce_scatter_allgather,
};

static void circulant(const Problem& in, ScheduleBuilder& schedule) {
    const std::vector<Rank> skips = circulant_skips(in.ranks());
    const std::int64_t element = in.agreed.element_bytes;
    const Places from(in.send.block(), element, in.ranks(), in.rank);
    const Places into(in.recv.block(), element, in.ranks(), in.rank);
    const Region own = into.place(0);
    const Reduced reduced = reduce_scatter_places(from, skips, own, in.in_place, schedule);
    gather_places(into, skips, {own, reduced.result, reduced.result}, reduced.read, schedule);
}

// A rank does not send its own block in the reduce-scatter.
static std::int64_t circulant_bytes(const GlobalArgs& a) {
    if (a.ranks == 1) return 0;
    std::vector<std::int64_t> sizes;
    for (Rank i = 0; i < a.ranks; ++i)
        sizes.push_back(part_of_rank(a, {.bytes = a.bytes}, i).bytes);
    std::vector<std::int64_t> sent = gather_bytes(sizes, circulant_skips(a.ranks));
    for (std::size_t r = 0; r < sent.size(); ++r) sent[r] += a.bytes - sizes[r];
    return std::ranges::max(sent);
}

// Allreduce over a circulant graph: the vector is cut into one block per rank; a reduce-scatter is
// followed by an allgather. Any number of ranks; blocks hold whole elements and may be empty. The
// operation commutes.
extern const Algorithm allreduce_circulant = {
    .name = "circulant",
    .source = traff_2024_reduce_scatter,
    .needs = {.commutative = true},
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return 2 * ceil_log2(a.ranks); },
    .sent_bytes_max = circulant_bytes,
    .build = circulant,
};

}  // namespace weft::algorithm
