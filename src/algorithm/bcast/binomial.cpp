// Broadcast along a binomial tree: in each round every rank that has the data sends it to one that
// does not, so the number of ranks with the data doubles. A rank sends to the child with the
// largest subtree first. For small messages, any number of ranks, and any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(binomial_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
    return ok;
}

}  // namespace

extern const Algorithm bcast_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .tunes = Tunes::throttle,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
