// Alltoall in steps: in step i a rank sends to the rank i ahead and receives from the rank i
// behind, one message at a time each way. Any number of ranks.
#include "algorithm/algorithm.h"
#include "algorithm/alltoall/outgoing.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(3 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    OpId stepped = schedule.start();
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        const Rank from = around(in.rank, -step, in.ranks());
        const OpId sent = schedule.send(outgoing.block(to), to, {outgoing.ready(to), stepped});
        const OpId arrived = schedule.recv(in.recv.block(from), from, {outgoing.ready(from)});
        if (step + 1 < in.ranks()) stepped = schedule.join({sent, arrived});
    }
    return ok;
}

}  // namespace

extern const Algorithm alltoall_shift = {
    .name = "shift",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
