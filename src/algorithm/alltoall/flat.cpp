// Alltoall all at once: every rank posts all messages and lets the transport order them. Nothing
// waits for anything else. Any number of ranks.
#include "algorithm/algorithm.h"
#include "algorithm/alltoall/outgoing.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        const Rank from = around(in.rank, -step, in.ranks());
        schedule.send(outgoing.block(to), to, {outgoing.ready(to)});
        schedule.recv(in.recv.block(from), from, {outgoing.ready(from)});
    }
    return ok;
}

}  // namespace

extern const Algorithm alltoall_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.2",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
