// Broadcasts along trees, which differ in the order and the number of children.
#include "algorithm/trees.h"
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {

template <Tree (*tree)(Rank rank, Rank ranks, Rank root)>
static void along(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(), schedule,
                in.agreed.tuning.throttle);
}

// Broadcast along a binomial tree: in each round every rank that has the data sends it to one that
// does not, so the number of ranks with the data doubles. A rank sends to the child with the
// largest subtree first. For small messages, any number of ranks, and any root.
extern const Algorithm bcast_binomial = {
    .name = "binomial",
    .source = thakur_2005,
    .tunes = Tunes::throttle,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = along<binomial_tree>,
};

// Broadcast along LibNBC's binomial tree, in which a rank sends to the nearest child first: in
// round k the ranks below 2^k, counted from the root, send to those 2^k ahead. It takes as many
// rounds as `binomial`. Any number of ranks, any root.
extern const Algorithm bcast_binomial_libnbc = {
    .name = "binomial_libnbc",
    .source =
        "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
        "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692, figure 1",
    .tunes = Tunes::throttle,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = along<doubling_tree>,
};

static void knomial(const Problem& in, ScheduleBuilder& schedule) {
    const Rank radix = in.agreed.tuning.radix();
    bcast_along(knomial_tree(in.rank, in.ranks(), in.root(), radix), in.recv.block(),
                schedule.start(), schedule);
}

// By the root.
static std::int64_t knomial_sent_messages(const GlobalArgs& a) {
    return multiples_below(a.ranks, a.tuning.radix());
}

// Broadcast along a tree in which a rank sends to k children at a time, with k ports: in each round
// every rank that has the data sends it to k others, so the number of ranks with the data grows by
// the factor k + 1. With one port it is a binomial tree. Any number of ranks, any root.
extern const Algorithm bcast_knomial = {
    .name = "knomial",
    .source = wilkins_2023,
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max = knomial_sent_messages,
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * knomial_sent_messages(a); },
    .build = knomial,
};

// Broadcast along a Bine tree, which has a binomial tree's rounds and messages, but shorter ways:
// ranks at numbers in base -2 whose lowest digits are complements of each other are parent and
// child, so children lie on both sides of their parent, and fewer messages leave a group of nearby
// ranks. A rank sends to the child with the largest subtree first. Any number of ranks, any root;
// ranks beyond a power of two get the data from a neighbor.
extern const Algorithm bcast_bine = {
    .name = "bine",
    .source = de_sensi_2025,
    .tunes = Tunes::throttle,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * floor_log2(a.ranks); },
    .build = along<bine_tree>,
};

}  // namespace weft::algorithm
