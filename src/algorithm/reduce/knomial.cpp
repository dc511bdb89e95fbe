// Reduction along a tree in which a rank receives from k children at a time, with k ports, and
// combines their operands. Any number of ranks, any root, also for operations that do not commute.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    reduce_to_root(in, in.agreed.tuning.ports, schedule);
    return ok;
}

}  // namespace

extern const Algorithm reduce_knomial = {
    .name = "knomial",
    .source =
        "Wilkins et al.: Generalized Collective Algorithms for the Exascale Era, 2023, "
        "doi:10.1109/CLUSTER52292.2023.00013",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks) + (!a.commutative && a.root != 0 ? 1 : 0);
    },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
