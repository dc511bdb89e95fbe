// Gather straight to the root, one rank after the other: the root asks each for its block with an
// empty message, so that blocks do not meet on the way. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const GatherArgs& in, ScheduleBuilder& schedule) {
    const Region nothing;
    if (in.rank != in.root) {
        const OpId asked = schedule.recv(nothing, in.root);
        schedule.send(in.mine, in.root, {asked});
        return ok;
    }
    if (!in.in_place) schedule.copy(in.mine, in.block(in.rank));
    OpId arrived = schedule.start();
    for (Rank i = 1; i < in.ranks; ++i) {
        const Rank from = around(in.root, i, in.ranks);
        schedule.send(nothing, from, {arrived});
        arrived = schedule.recv(in.block(from), from);
    }
    return ok;
}

}  // namespace

extern const Algorithm gather_sequential = {
    .name = "sequential",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](Size s) -> std::int64_t { return 2 * (s.ranks - 1); },
    .sent_messages_max = [](Size s) -> std::int64_t { return s.ranks - 1; },
    .sent_bytes_max = [](Size s) { return s.ranks > 1 ? s.bytes : 0; },
    .build = builds<build>,
};

}  // namespace weft::algorithm
