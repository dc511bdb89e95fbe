// Alltoall around a ring through a torus, by recursive doubling: in step j every rank sends all
// blocks whose remaining distance has bit j set, in one message, to the rank 2^j ahead. The ring is
// a path with one link from each rank to the next. On most tori the same algorithm in rank order,
// `bruck`, puts fewer messages on a link (`weft schedule --links` shows both).
//
// With the ranks in this order it is Bruck's algorithm.
#include "shape/torus.h"
#include "algorithm/algorithms.h"
#include "algorithm/renumbered.h"

namespace weft::algorithm {

namespace {

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Renumbered call(in, in.agreed.torus->path());
    const auto in_order = schedule.within(call.order);
    alltoall_bruck.build(call.problem, schedule);
}

}  // namespace

extern const Algorithm alltoall_torus = {
    .name = "torus",
    .source = kaiser_2009_alltoall,
    .needs = {.torus = true},
    .rounds = [](const GlobalArgs& a) { return alltoall_bruck.rounds(a); },
    .sent_messages_max = [](const GlobalArgs& a) { return alltoall_bruck.sent_messages_max(a); },
    .sent_bytes_max = [](const GlobalArgs& a) { return alltoall_bruck.sent_bytes_max(a); },
    .build = build,
};

}  // namespace weft::algorithm
