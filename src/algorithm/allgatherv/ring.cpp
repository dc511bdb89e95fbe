// Allgatherv around a ring: allgather's algorithm, for blocks that differ. Every rank sends its
// block to the next rank, then passes on the block it received last, until each has been
// everywhere. Any number of ranks.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm allgather_ring;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return allgather_ring.build(in, schedule);
}

}  // namespace

extern const Algorithm allgatherv_ring = {
    .name = "ring",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes_of_others_max(); },
    .build = build,
};

}  // namespace weft::algorithm
