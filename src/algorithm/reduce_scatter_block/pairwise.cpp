// Reduce-scatter in steps: in step i rank r sends block r + i to rank r + i, one message at a time,
// and combines what arrives, in order of arrival if the operation commutes. Any number of ranks, also for
// operations that do not commute.
#include <utility>

#include "algorithm/algorithm.h"
#include "algorithm/rank_order.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// This rank's operand is combined with the first one that arrives, as the second operand: that can be one pass.
OpId combine_in_any_order(const Problem& in, Region own, Region sum, ScheduleBuilder& schedule) {
    if (in.ranks() == 1) return schedule.copy(own, sum);
    const OpId first = schedule.recv(sum, around(in.rank, -1, in.ranks()));
    OpId result = schedule.reduce(own, sum, {first});
    // Operands land in two alternating buffers.
    Region operand = in.ranks() > 2 ? schedule.scratch(sum.bytes) : Region{};
    Region other_operand = in.ranks() > 3 ? schedule.scratch(sum.bytes) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    for (Rank i = 2; i < in.ranks(); ++i) {
        const OpId arrived = schedule.recv(operand, around(in.rank, -i, in.ranks()), {free});
        result = schedule.reduce(operand, sum, {result, arrived});
        free = std::exchange(other_free, result);
        std::swap(operand, other_operand);
    }
    return result;
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1 && in.in_place) return ok;
    schedule.expect(3 * static_cast<std::size_t>(in.ranks()));
    OpId sent = no_op;
    // In place the result overwrites the first block, or several if sizes differ; these may not have been sent yet.
    const bool differ = !in.agreed.sizes.empty();
    OpId first_blocks_read = no_op;
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        sent = schedule.send(in.send.block(to), to, {sent});
        if (to == 0 || differ) first_blocks_read = sent;
    }
    const Region own = in.send.block(in.rank);
    const Region sum = in.in_place ? schedule.scratch(in.recv.bytes) : in.recv.block();
    const auto combine = in.agreed.commutative ? combine_in_any_order : combine_in_rank_order;
    const OpId result = combine(in, own, sum, schedule);
    if (in.in_place) schedule.copy(sum, in.recv.block(), {result, first_blocks_read});
    return ok;
}

}  // namespace

extern const Algorithm reduce_scatter_block_pairwise = {
    .name = "pairwise",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::always,
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
