// Exclusive scan by recursive doubling: every rank passes its operand on to the next one; then all but the first scan
// the operands that they received. Any number of ranks, also for operations that do not commute.
#include "algorithm/algorithm.h"
#include "algorithm/prefix.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    OpId sent = no_op;
    if (in.rank + 1 < in.ranks()) sent = schedule.send(in.send.block(), in.rank + 1);
    if (in.rank == 0) return ok;
    const Region into = in.recv.block();
    const Region sum = in.in_place ? schedule.scratch(into.bytes) : into;
    const OpId arrived = schedule.recv(sum, in.rank - 1);
    const OpId ready = prefix_by_doubling(in, 1, sum, arrived, schedule);
    if (in.in_place) schedule.copy(sum, into, {ready, sent});
    return ok;
}

// The second rank sends the most, of three and more.
std::int64_t sent_messages(const Agreed& a) {
    return a.ranks < 3 ? a.ranks - 1 : 1 + ceil_log2(a.ranks - 1);
}

}  // namespace

extern const Algorithm exscan_recursive_doubling = {
    .name = "recursive_doubling",
    .source = "Hillis, Steele: Data Parallel Algorithms, 1986, doi:10.1145/7902.7903",
    .rounds = sent_messages,
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * sent_messages(a); },
    .build = build,
};

}  // namespace weft::algorithm
