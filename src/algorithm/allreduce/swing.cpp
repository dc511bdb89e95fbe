// Allreduce as a reduce-scatter and an allgather in which partners are 1, 1, 3, 5, 11, ... ranks apart, in
// alternate directions around a ring: on a network that is a ring, messages take shorter ways than in
// recursive halving and doubling, and the rounds and bytes are the same. Any number of ranks: those
// beyond a power of two first fold into their neighbors. The operation has to commute.
//
// Parts are numbered as in Bine trees, so that what a rank sends in a round is contiguous: both papers
// have the same partners.
#include "algorithm/allreduce/butterfly.h"
#include "shape/bine.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return HalvesExchange::build(in, bine_doubling, schedule);
}

}  // namespace

extern const Algorithm allreduce_swing = {
    .name = "swing",
    .source =
        "De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting Rings for Higher Bandwidth "
        "Allreduce, 2024, arXiv:2401.09356 (on a ring, one port); the numbering of parts after "
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835",
    .needs = {.commutative = true},
    .rounds = HalvesExchange::rounds,
    .sent_messages_max = HalvesExchange::sent_messages_max,
    .sent_bytes_max = HalvesExchange::sent_bytes_max,
    .build = build,
};

}  // namespace weft::algorithm
