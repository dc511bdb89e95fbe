// Broadcasts along trees, which differ in the order and the number of children.
#include "algorithm/trees.h"
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {

static void binomial(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(binomial_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
}

// Broadcast along a binomial tree: in each round every rank that has the data sends it to one that
// does not, so the number of ranks with the data doubles. A rank sends to the child with the
// largest subtree first. For small messages, any number of ranks, and any root.
extern const Algorithm bcast_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .tunes = Tunes::throttle,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = binomial,
};

static void binomial_libnbc(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(doubling_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
}

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
    .build = binomial_libnbc,
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
    .source =
        "Wilkins et al.: Generalized Collective Algorithms for the Exascale Era, 2023, "
        "doi:10.1109/CLUSTER52292.2023.00013",
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max = knomial_sent_messages,
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * knomial_sent_messages(a); },
    .build = knomial,
};

static void bine(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(bine_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
}

// Broadcast along a Bine tree, which has a binomial tree's rounds and messages, but shorter ways:
// ranks at numbers in base -2 whose lowest digits are complements of each other are parent and
// child, so children lie on both sides of their parent, and fewer messages leave a group of nearby
// ranks. A rank sends to the child with the largest subtree first. Any number of ranks, any root;
// ranks beyond a power of two get the data from a neighbor.
extern const Algorithm bcast_bine = {
    .name = "bine",
    .source =
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (distance halving)",
    .tunes = Tunes::throttle,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * floor_log2(a.ranks); },
    .build = bine,
};

}  // namespace weft::algorithm
