// Scan of long vectors: each rank computes one part of all ranks' results. Any number of ranks, also for
// operations that do not commute; parts hold whole elements and may be empty.
#include "algorithm/transposed.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    prefix_transposed(in, Own::included, schedule);
    return ok;
}

}  // namespace

extern const Algorithm scan_transposed = {
    .name = "transposed",
    .source =
        "Weft; after the reduce-scatter and allgather of Thakur, Rabenseifner, Gropp: Optimization "
        "of "
        "Collective Communication Operations in MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = transposed_messages,
    .sent_messages_max = transposed_messages,
    .sent_bytes_max = transposed_bytes,
    .build = build,
};

}  // namespace weft::algorithm
