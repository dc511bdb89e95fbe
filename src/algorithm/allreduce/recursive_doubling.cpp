// Allreduce by recursive doubling, with the whole vector in every message: in round k partners at
// distance 2^k exchange their partial results, and both combine the two. Few rounds, but much data:
// for small vectors. Any number of ranks, also for operations that do not commute.
//
// Ranks beyond a power of two first fold into their neighbors (shape/fold.h). Partners combine the
// lower ranks' operand with the higher ranks', in this order: operands stay in rank order, and all
// ranks get the same bits.
#include <utility>

#include "algorithm/algorithm.h"
#include "shape/fold.h"

namespace weft::algorithm {
namespace {

// This rank's partner stands for it: it gets the operand and returns the result.
void build_folded(const Problem& in, Rank partner, ScheduleBuilder& schedule) {
    OpId given = schedule.send(in.send.block(), partner);
    schedule.recv(in.recv.block(), partner, {in.in_place ? given : no_op});
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region from = in.send.block();
    const Region into = in.recv.block();
    const Fold fold(in.ranks());
    const std::optional<Rank> number = fold.number_of(in.rank);
    if (!number) {
        build_folded(in, fold.partner(in.rank), schedule);
        return ok;
    }

    // `result` completes when `into` holds all operands combined so far.
    OpId result = schedule.start();
    if (!in.in_place) result = schedule.copy(from, into);
    if (in.ranks() == 1) return ok;

    // Operands land in two alternating buffers, so that a receive waits only for the reduction
    // before the last.
    Region operand = schedule.scratch(in.agreed.bytes);
    const bool paired = fold.is_paired(in.rank);
    const int reductions = floor_log2(fold.standing) + (paired ? 1 : 0);
    Region other_operand = reductions > 1 ? schedule.scratch(in.agreed.bytes) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    auto turn = [&](OpId reduced) {
        free = std::exchange(other_free, reduced);
        std::swap(operand, other_operand);
        result = reduced;
    };

    if (paired) {
        OpId arrived = schedule.recv(operand, fold.partner(in.rank));
        turn(schedule.reduce(operand, into, {result, arrived}));
    }
    bool own = !paired;  // so far there is only this rank's operand
    for (Rank bit = 1; bit < fold.standing; bit *= 2) {
        const Rank peer = fold.rank_of(*number ^ bit);
        OpId sent = own ? schedule.send(from, peer) : schedule.send(into, peer, {result});
        OpId unread = own && !in.in_place ? no_op : sent;  // `into` may be overwritten
        OpId arrived = schedule.recv(operand, peer, {free});
        turn(peer < in.rank ? schedule.reduce(operand, into, {result, arrived, unread})
                            : schedule.reduce_right(operand, into, {result, arrived, unread}));
        own = false;
    }
    if (paired) schedule.send(into, fold.partner(in.rank), {result});
    return ok;
}

}  // namespace

extern const Algorithm allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::powers_of_two,
    .rounds = [](const Agreed& a) -> std::int64_t {
        return floor_log2(a.ranks) + (is_power_of_two(a.ranks) ? 0 : 2);
    },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t {
        return floor_log2(a.ranks) + (is_power_of_two(a.ranks) ? 0 : 1);
    },
    .sent_bytes_max =
        [](const Agreed& a) {
            return a.bytes * (floor_log2(a.ranks) + (is_power_of_two(a.ranks) ? 0 : 1));
        },
    .build = build,
};

}  // namespace weft::algorithm
