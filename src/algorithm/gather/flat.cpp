// Gather straight to the root: all ranks send at once. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const GatherArgs& in, ScheduleBuilder& schedule) {
    if (in.rank != in.root) {
        schedule.send(in.mine, in.root);
        return ok;
    }
    if (!in.in_place) schedule.copy(in.mine, in.block(in.rank));
    for (Rank i = 1; i < in.ranks; ++i) {
        const Rank from = around(in.root, i, in.ranks);
        schedule.recv(in.block(from), from);
    }
    return ok;
}

}  // namespace

extern const Algorithm gather_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](Size s) -> std::int64_t { return s.ranks - 1; },
    .sent_messages_max = [](Size s) -> std::int64_t { return s.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](Size s) { return s.ranks > 1 ? s.bytes : 0; },
    .build = builds<build>,
};

}  // namespace weft::algorithm
