// Broadcast along a tree in which a rank sends to k children at a time, with k ports: in each round
// every rank that has the data sends it to k others, so the number of ranks with the data grows by
// the factor k + 1. With one port it is a binomial tree. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Rank radix = in.agreed.tuning.radix();
    bcast_along(knomial_tree(in.rank, in.ranks(), in.root(), radix), in.recv.block(),
                schedule.start(), schedule);
    return ok;
}

// By the root.
std::int64_t sent_messages(const Agreed& a) { return multiples_below(a.ranks, a.tuning.radix()); }

}  // namespace

extern const Algorithm bcast_knomial = {
    .name = "knomial",
    .source =
        "Wilkins et al.: Generalized Collective Algorithms for the Exascale Era, 2023, "
        "doi:10.1109/CLUSTER52292.2023.00013",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log(a.tuning.radix(), a.ranks); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * sent_messages(a); },
    .build = build,
};

}  // namespace weft::algorithm
