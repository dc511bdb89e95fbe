// Scan by recursive doubling: in step k every rank sends the combination of up to 2^k operands, the
// last of which is its own, to the rank 2^k above it, which prepends it to what it has. Any number
// of ranks, also for operations that do not commute.
#include "algorithm/algorithm.h"
#include "algorithm/prefix.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    OpId ready = schedule.start();
    if (!in.in_place) ready = schedule.copy(in.send.block(), in.recv.block());
    prefix_by_doubling(in, 0, in.recv.block(), ready, schedule);
    return ok;
}

}  // namespace

extern const Algorithm scan_recursive_doubling = {
    .name = "recursive_doubling",
    .source = "Hillis, Steele: Data Parallel Algorithms, 1986, doi:10.1145/7902.7903",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
