// Allreduce around a ring: the vector is cut into one block per rank, of whole elements or none.
// Each block collects all operands on its way around; then its result goes around once more. Any
// number of ranks; the operation has to commute.
#include <utility>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Region from = in.send.block();
    const Region all = in.recv.block();
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(from, all);
        return;
    }
    const Neighbours beside = ring_neighbours(in.rank, in.ranks());
    auto part = [&](Region whole, Rank i) { return part_of_rank(in.agreed, whole, i); };
    auto block_of_step = [&](Rank step) { return around(in.rank, -step, in.ranks()); };

    // In each step a block arrives, is combined with this rank's operand, and is sent on. Out of
    // place it lands in `into`, in place in two alternating buffers.
    const std::int64_t largest = part(all, 0).bytes;
    Region operand = in.in_place ? schedule.scratch(largest) : Region{};
    Region other_operand = in.in_place && in.ranks() > 2 ? schedule.scratch(largest) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    std::vector<OpId> sent;  // by step: its block has been sent on
    sent.push_back(schedule.send(part(from, in.rank), beside.to));
    OpId result = no_op;
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank block = block_of_step(step);
        const Region into = part(all, block);
        if (in.in_place) {
            const Region arriving = operand.part(0, into.bytes);
            const OpId arrived = schedule.recv(arriving, beside.from, {free});
            result = schedule.reduce(arriving, into, {arrived});
            free = std::exchange(other_free, result);
            std::swap(operand, other_operand);
        } else {
            const OpId arrived = schedule.recv(into, beside.from);
            result = schedule.reduce(part(from, block), into, {arrived});
        }
        sent.push_back(schedule.send(into, beside.to, {result}));
    }
    // The last of these sends began the second way around: its block is complete here.
    for (Rank step = 0; step < in.ranks() - 1; ++step) {
        const Region into = part(all, block_of_step(step));
        const bool unread = step == 0 && !in.in_place;
        const OpId arrived = schedule.recv(into, beside.from,
                                           {unread ? no_op : sent[static_cast<std::size_t>(step)]});
        if (step < in.ranks() - 2) schedule.send(into, beside.to, {arrived});
    }
}

// A rank sends each block twice, except two neighboring ones; the last two are the smallest.
std::int64_t sent_bytes(const GlobalArgs& a) {
    if (a.ranks == 1) return 0;
    const Region all = {.bytes = a.bytes};
    return 2 * a.bytes - part_of_rank(a, all, a.ranks - 2).bytes -
           part_of_rank(a, all, a.ranks - 1).bytes;
}

}  // namespace

extern const Algorithm allreduce_ring = {
    .name = "ring",
    .source =
        "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, "
        "2009, doi:10.1016/j.jpdc.2008.09.002",
    .needs = {.commutative = true},
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
