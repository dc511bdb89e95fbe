// Reduce-scatter by recursive halving: reduce_scatter_block's algorithm, for blocks that differ. The
// number of ranks is a power of two; the operation commutes.
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {

extern const Algorithm reduce_scatter_block_recursive_halving;

namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    return reduce_scatter_block_recursive_halving.build(in, schedule);
}

}  // namespace

extern const Algorithm reduce_scatter_recursive_halving = {
    .name = "recursive_halving",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .needs = {.commutative = true, .ranks_are_a_power_of_ports_plus_1 = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes_of_others_max(); },
    .build = build,
};

}  // namespace weft::algorithm
