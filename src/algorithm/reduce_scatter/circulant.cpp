// Reduce-scatter over a circulant graph: reduce_scatter_block's algorithm, for blocks that differ.
// Any number of ranks; the operation commutes.
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {

extern const Algorithm reduce_scatter_block_circulant;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return reduce_scatter_block_circulant.build(in, schedule);
}

}  // namespace

extern const Algorithm reduce_scatter_circulant = {
    .name = "circulant",
    .source =
        "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
        "arXiv:2410.14234",
    .needs = {.commutative = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes_of_others_max(); },
    .build = build,
};

}  // namespace weft::algorithm
