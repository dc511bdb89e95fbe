// Scan along a line: every rank combines the result of the rank below it with its own operand, and
// passes that on. Any number of ranks, also for operations that do not commute.
#include "algorithm/algorithm.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region sum = in.recv.block();
    OpId ready = schedule.start();
    if (!in.in_place) ready = schedule.copy(in.send.block(), sum);
    if (in.rank > 0) {
        const Region below = schedule.scratch(sum.bytes);
        ready = schedule.reduce(below, sum, {ready, schedule.recv(below, in.rank - 1)});
    }
    if (in.rank + 1 < in.ranks()) schedule.send(sum, in.rank + 1, {ready});
    return ok;
}

}  // namespace

extern const Algorithm scan_linear = {
    .name = "linear",
    .source =
        "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
        "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
