// Broadcast along LibNBC's binomial tree, in which a rank sends to the nearest child first: in
// round k the ranks below 2^k, counted from the root, send to those 2^k ahead. It takes as many
// rounds as `binomial`. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(doubling_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
    return ok;
}

}  // namespace

extern const Algorithm bcast_binomial_libnbc = {
    .name = "binomial_libnbc",
    .source =
        "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
        "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692, figure 1",
    .tunes = Tunes::throttle,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
