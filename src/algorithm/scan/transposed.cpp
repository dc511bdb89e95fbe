// Prefix sums of long vectors.
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// One rank's operand of this part, and what replaces it: first the combination of the longest block
// of 2^k ranks that ends with the rank, which others read, then the combination of ranks 0 to this
// one.
struct TransposedSlot {
    Region where;
    OpId ready = no_op;
    std::vector<OpId> read = {};  // of the block, by ranks that combined it with theirs
};

// Bit by bit, prepends the preceding block's combination to a rank's own.
void combine_all(std::vector<TransposedSlot>& slots, ScheduleBuilder& schedule) {
    const std::size_t ranks = slots.size();
    for (std::size_t bit = 1; bit < ranks; bit *= 2) {
        for (std::size_t r = 0; r < ranks; ++r) {
            if ((r & bit) == 0) continue;
            TransposedSlot& slot = slots[r];
            TransposedSlot& before = slots[(r & ~(2 * bit - 1)) + bit - 1];
            const OpId unread = slot.read.empty() ? no_op : schedule.join(slot.read);
            slot.read.clear();
            slot.ready =
                schedule.reduce(before.where, slot.where, {before.ready, slot.ready, unread});
            before.read.push_back(slot.ready);
        }
    }
}

// Of scan, or of exscan, whose results do not include a rank's own operand. The vector is cut into
// a part for each rank. In step i rank r sends part r + i to rank r + i, which computes all ranks'
// results of its part, in the association of reproducible reductions; in step i of the second half
// rank r sends rank r + i that rank's result. Needs memory for one vector.
void prefix_transposed(const Problem& in, bool is_included, ScheduleBuilder& schedule) {
    const Rank last = in.ranks() - 1;
    auto part = [&](Region vector, Rank i) { return part_of_rank(in.agreed, vector, i); };
    const Region operand = in.send.block();
    const Region into = in.recv.block();

    // In an exclusive scan nobody needs the last rank's operand.
    std::vector<OpId> sent(static_cast<std::size_t>(in.ranks()), no_op);  // by rank
    OpId last_sent = no_op;
    for (Rank step = 1; step < in.ranks() && (is_included || in.rank < last); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        last_sent = sent[static_cast<std::size_t>(to)] =
            schedule.send(part(operand, to), to, {last_sent});
    }

    // This rank's own result is computed at its destination.
    const Rank mine = is_included ? in.rank : in.rank - 1;
    const Rank computed = is_included ? in.ranks() : last;
    std::vector<TransposedSlot> slots(static_cast<std::size_t>(computed));
    auto slot = [&](Rank rank) -> TransposedSlot& { return slots[static_cast<std::size_t>(rank)]; };
    const Region own_part = part(operand, in.rank);
    const Region own_result = part(into, in.rank);
    OpId own_kept = no_op;
    if (in.rank < computed) {
        TransposedSlot& kept = slot(in.rank);
        kept.where = is_included && !in.in_place ? own_result : own_part;
        if (!is_included && in.rank > 0) kept.where = schedule.scratch(own_part.bytes);
        if (kept.where != own_part) own_kept = kept.ready = schedule.copy(own_part, kept.where);
    }
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank from = around(in.rank, -step, in.ranks());
        if (from >= computed) continue;
        const bool is_mine = from == mine;
        slot(from).where = is_mine ? own_result : schedule.scratch(own_part.bytes);
        slot(from).ready = schedule.recv(slot(from).where, from, {is_mine ? own_kept : no_op});
    }
    combine_all(slots, schedule);

    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        if (is_included || to > 0) {
            const TransposedSlot& result = slot(is_included ? to : to - 1);
            last_sent = schedule.send(result.where, to, {result.ready, last_sent});
        }
        const Rank from = around(in.rank, -step, in.ranks());
        if (!is_included && in.rank == 0) continue;
        const OpId unread = in.in_place ? sent[static_cast<std::size_t>(from)] : no_op;
        schedule.recv(part(into, from), from, {unread});
    }
}

std::int64_t transposed_messages(const GlobalArgs& a) { return 2 * (a.ranks - 1); }

// The first rank's part is the largest, and it sends results of it to all others.
std::int64_t transposed_bytes(const GlobalArgs& a) {
    if (a.ranks == 1) return 0;
    return a.bytes + (a.ranks - 2) * part_of_rank(a, {.bytes = a.bytes}, 0).bytes;
}

void scan(const Problem& in, ScheduleBuilder& schedule) { prefix_transposed(in, true, schedule); }

void exscan(const Problem& in, ScheduleBuilder& schedule) {
    prefix_transposed(in, false, schedule);
}

}  // namespace

// Scan of long vectors: each rank computes one part of all ranks' results. Any number of ranks,
// also for operations that do not commute; parts hold whole elements and may be empty.
extern const Algorithm scan_transposed = {
    .name = "transposed",
    .source = weft_after_thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = transposed_messages,
    .sent_messages_max = transposed_messages,
    .sent_bytes_max = transposed_bytes,
    .build = scan,
};

// From four ranks on, one round more than scan's: the last rank sends no operand, and the first
// gets no result.
static std::int64_t exscan_rounds(const GlobalArgs& a) {
    return transposed_messages(a) + (a.ranks > 3 ? 1 : 0);
}

// Exclusive scan of long vectors: each rank computes one part of all ranks' results. Any number of
// ranks, also for operations that do not commute; parts hold whole elements and may be empty.
extern const Algorithm exscan_transposed = {
    .name = "transposed",
    .source = weft_after_thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = exscan_rounds,
    .sent_messages_max = transposed_messages,
    .sent_bytes_max = transposed_bytes,
    .build = exscan,
};

}  // namespace weft::algorithm
