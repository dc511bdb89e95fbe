// Allgather all at once: every rank sends its block to every other, without waiting for anything,
// and lets the transport order the messages. Any number of ranks.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank from = around(in.rank, -step, in.ranks());
        schedule.send(in.send.block(), around(in.rank, step, in.ranks()));
        schedule.recv(in.recv.block(from), from);
    }
    return ok;
}

}  // namespace

extern const Algorithm allgather_linear = {
    .name = "linear",
    .source =
        "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
        "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
