// Allgather around a ring: every rank sends its block to the next rank, then passes on the block it
// received last, until each block has been everywhere. Only neighbors exchange messages, and every
// block arrives at its final place: for large blocks. Any number of ranks.
#include "shape/ring.h"
#include "algorithm/algorithm.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Neighbours beside = ring_neighbours(in.rank, in.ranks());
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    Region block = in.send.block();
    OpId ready = schedule.start();
    for (Rank step = 1; step < in.ranks(); ++step) {
        schedule.send(block, beside.to, {ready});
        block = in.recv.block(around(in.rank, -step, in.ranks()));
        ready = schedule.recv(block, beside.from);
    }
    return ok;
}

}  // namespace

extern const Algorithm allgather_ring = {
    .name = "ring",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
