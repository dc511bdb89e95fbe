// Allreduce along a Bine butterfly, with the whole vector in every message, as in recursive
// doubling, but with shorter ways: partners are at first about a third of the ranks apart instead
// of half of them, then half as far in each round, and both combine their partial results. For
// small vectors; `swing` is the one for large vectors. Any number of ranks, as those beyond a power
// of two first fold into their neighbors; the operation has to commute.
//
// The farthest partners come first: ranks that have the same operands then combine them in the same
// order, so that all ranks get the same bits. With the nearest first they would not.
#include "shape/bine.h"
#include "algorithm/allreduce/butterfly.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return WholeExchange::build(in, bine_halving, schedule);
}

}  // namespace

extern const Algorithm allreduce_bine = {
    .name = "bine",
    .source =
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (small vectors)",
    .needs = {.commutative = true},
    .rounds = WholeExchange::rounds,
    .sent_messages_max = WholeExchange::sent_messages_max,
    .sent_bytes_max = WholeExchange::sent_bytes_max,
    .build = build,
};

}  // namespace weft::algorithm
