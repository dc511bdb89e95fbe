// Scan in a hypercube: in step k a rank exchanges the combination of its block of 2^k ranks with the rank
// that differs in bit k; the upper one prepends what it gets to its own. Only what is needed is sent. Any number of
// ranks, also for operations that do not commute.
#include "algorithm/algorithm.h"
#include "algorithm/prefix.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    prefix_by_hypercube(in, Own::included, schedule);
    return ok;
}

}  // namespace

extern const Algorithm scan_hypercube = {
    .name = "hypercube",
    .source =
        "Sanders, Mehlhorn, Dietzfelbinger, Dementiev: Sequential and Parallel Algorithms and Data "
        "Structures, 2019, doi:10.1007/978-3-030-25209-0, chapter 13",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
