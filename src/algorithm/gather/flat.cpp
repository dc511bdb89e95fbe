// Gather straight to the root: all ranks send at once, and the root receives in any order. Every
// block is sent once, but the root gets a message from each rank. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.is_root()) {
        schedule.send(in.send.block(), in.root());
        return ok;
    }
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    schedule.expect(static_cast<std::size_t>(in.ranks()));
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank from = around(in.root(), i, in.ranks());
        schedule.recv(in.recv.block(from), from);
    }
    return ok;
}

}  // namespace

extern const Algorithm gather_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
