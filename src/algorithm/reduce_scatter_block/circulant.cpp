// Reduce-scatter over a circulant graph: in each round a rank sends the later half of its partial
// results and combines the others with what arrives. Any number of ranks; the operation commutes.
#include "shape/circulant.h"
#include "algorithm/places.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    reduce_scatter_places(Places(in.send, in.rank), circulant_skips(in.ranks()), in.recv.block(),
                          in.in_place, schedule);
    return ok;
}

}  // namespace

extern const Algorithm reduce_scatter_block_circulant = {
    .name = "circulant",
    .source =
        "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
        "arXiv:2410.14234",
    .needs = {.commutative = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
