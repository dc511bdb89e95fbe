// Alltoall by exchange: in each step ranks form pairs, and both of a pair send each other a block.
// A rank has one partner at a time, so messages do not compete for a receiver. Any number of ranks;
// if it is odd, one rank is idle in each step.
#include "algorithm/algorithm.h"
#include "algorithm/alltoall/outgoing.h"
#include "shape/pairing.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    OpId sent = schedule.start();
    OpId arrived = schedule.start();
    for (Rank step = 0; step < pairing_steps(in.ranks()); ++step) {
        const std::optional<Rank> partner = partner_in_step(in.rank, in.ranks(), step);
        if (!partner) continue;
        const OpId ready = outgoing.ready(*partner);
        sent = schedule.send(outgoing.block(*partner), *partner, {ready, sent, arrived});
        arrived = schedule.recv(in.recv.block(*partner), *partner, {ready});
    }
    return ok;
}

}  // namespace

extern const Algorithm alltoall_pairwise = {
    .name = "pairwise",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.2",
    .rounds = [](const Agreed& a) -> std::int64_t { return pairing_steps(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
