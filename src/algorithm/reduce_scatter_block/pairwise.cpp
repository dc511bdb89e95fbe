// Reduce-scatter in steps: in step i rank r sends block r + i to rank r + i, one message at a time,
// and combines what arrives. Any number of ranks, also for operations that do not commute: their
// operands are combined from the last rank's down to the first's.
#include <utility>
#include <vector>

#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// The ranks in the order in which their operands are combined: in order of arrival, with this rank
// second; or, if the operation does not commute, from the highest rank down.
std::vector<Rank> order_of_operands(const Problem& in) {
    std::vector<Rank> order;
    for (Rank i = 1; i < in.ranks(); ++i) order.push_back(around(in.rank, -i, in.ranks()));
    order.insert(order.begin() + (order.empty() ? 0 : 1), in.rank);
    if (!in.agreed.commutative) {
        for (Rank i = 0; i < in.ranks(); ++i)
            order[static_cast<std::size_t>(i)] = in.ranks() - 1 - i;
    }
    return order;
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1 && in.in_place) return ok;
    OpId sent = no_op;
    // In place the result overwrites the first block, or several that differ; they may still have to
    // be sent.
    const bool differ = !in.agreed.sizes.empty();
    OpId first_blocks_read = no_op;
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        sent = schedule.send(in.send.block(to), to, {sent});
        if (to == 0 || differ) first_blocks_read = sent;
    }

    const Region sum = in.in_place ? schedule.scratch(in.recv.bytes) : in.recv.block();
    // Operands land in two buffers in turn; if rank order counts, each in its own.
    const bool takes_turns = in.agreed.commutative;
    Region operand;
    Region other_operand;
    OpId free = no_op;
    OpId other_free = no_op;
    OpId result = no_op;
    for (Rank from : order_of_operands(in)) {
        const bool is_own = from == in.rank;
        if (result == no_op) {
            result = is_own ? schedule.copy(in.send.block(from), sum) : schedule.recv(sum, from);
        } else if (is_own) {
            result = schedule.reduce(in.send.block(from), sum, {result});
        } else {
            if (!takes_turns || operand.bytes == 0) operand = schedule.scratch(in.recv.bytes);
            const OpId arrived = schedule.recv(operand, from, {takes_turns ? free : no_op});
            result = schedule.reduce(operand, sum, {result, arrived});
            free = std::exchange(other_free, result);
            std::swap(operand, other_operand);
        }
    }
    if (in.in_place) schedule.copy(sum, in.recv.block(), {result, first_blocks_read});
    return ok;
}

}  // namespace

extern const Algorithm reduce_scatter_block_pairwise = {
    .name = "pairwise",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
