// Allgatherv over a circulant graph: allgather's algorithm, for blocks that differ. Any number of
// ranks.
#include <algorithm>

#include "algorithm/places.h"
#include "shape/circulant.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    gather_places(in, circulant_skips(in.ranks()), schedule);
    return ok;
}

}  // namespace

extern const Algorithm allgatherv_circulant = {
    .name = "circulant",
    .source =
        "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
        "arXiv:2410.14234",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max =
        [](const Agreed& a) {
            return std::ranges::max(gather_bytes(a.sizes, circulant_skips(a.ranks)));
        },
    .build = build,
};

}  // namespace weft::algorithm
