// Exclusive scan along a line: every rank gets the combination of the operands of the ranks below it, and passes it on
// combined with its own operand. Any number of ranks, also for operations that do not commute.
#include "algorithm/algorithm.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region own = in.send.block();
    const bool is_last = in.rank + 1 == in.ranks();
    if (in.rank == 0) {
        if (!is_last) schedule.send(own, 1);
        return ok;
    }
    const Region below = in.recv.block();
    if (is_last) {
        schedule.recv(below, in.rank - 1);
        return ok;
    }
    const Region sum = schedule.scratch(below.bytes);
    const OpId copied = schedule.copy(own, sum);
    const OpId arrived = schedule.recv(below, in.rank - 1, {in.in_place ? copied : no_op});
    schedule.send(sum, in.rank + 1, {schedule.reduce(below, sum, {copied, arrived})});
    return ok;
}

}  // namespace

extern const Algorithm exscan_linear = {
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
