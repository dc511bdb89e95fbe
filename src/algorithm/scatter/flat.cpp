// Scatter straight from the root. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const ScatterArgs& in, ScheduleBuilder& schedule) {
    if (in.rank != in.root) {
        schedule.recv(in.mine, in.root);
        return ok;
    }
    for (Rank i = 1; i < in.ranks; ++i) {
        const Rank to = around(in.root, i, in.ranks);
        schedule.send(in.block(to), to);
    }
    if (!in.in_place) schedule.copy(in.block(in.rank), in.mine);
    return ok;
}

}  // namespace

extern const Algorithm scatter_flat = {
    .name = "flat",
    .source =
        "Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, "
        "and "
        "experience, 2007, doi:10.1002/cpe.1206",
    .rounds = [](Size s) -> std::int64_t { return s.ranks - 1; },
    .sent_messages_max = [](Size s) -> std::int64_t { return s.ranks - 1; },
    .sent_bytes_max = [](Size s) { return s.bytes * (s.ranks - 1); },
    .build = builds<build>,
};

}  // namespace weft::algorithm
