// Exclusive scan of long vectors: each rank computes one part of all ranks' results. Any number of ranks,
// also for operations that do not commute; parts hold whole elements and may be empty.
#include "algorithm/transposed.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    prefix_transposed(in, Own::excluded, schedule);
    return ok;
}

// From four ranks on, one round more than scan's: the last rank sends no operand, and the first gets no result.
std::int64_t rounds(const Agreed& a) { return transposed_messages(a) + (a.ranks > 3 ? 1 : 0); }

}  // namespace

extern const Algorithm exscan_transposed = {
    .name = "transposed",
    .source =
        "Weft; after the reduce-scatter and allgather of Thakur, Rabenseifner, Gropp: Optimization "
        "of "
        "Collective Communication Operations in MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = rounds,
    .sent_messages_max = transposed_messages,
    .sent_bytes_max = transposed_bytes,
    .build = build,
};

}  // namespace weft::algorithm
