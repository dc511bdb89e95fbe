// Allreduce by recursive halving and doubling: partners exchange halves of the vector and combine them, until every
// rank has the result of its part; then they exchange the parts in the opposite order. Any number of ranks, also for
// operations that do not commute.
//
// Ranks beyond a power of two first fold into their neighbors (shape/fold.h). The nearest ranks are partners first, so
// that operands stay in rank order.
#include <vector>

#include "algorithm/algorithm.h"
#include "shape/fold.h"

namespace weft::algorithm {
namespace {

// Elements of the vector.
struct Part {
    std::int64_t first;
    std::int64_t count;

    // The lower partner's half is not the smaller one.
    Part lower() const { return {first, count - count / 2}; }
    Part upper() const { return {first + lower().count, count / 2}; }
    Region of(Region vector, std::int64_t element_bytes) const {
        return vector.part(first * element_bytes, count * element_bytes);
    }
};

Part whole(const Agreed& a) { return {0, a.bytes / a.element_bytes}; }

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region from = in.send.block();
    const Region into = in.recv.block();
    const std::int64_t element = in.agreed.element_bytes;
    const Fold fold(in.ranks());
    const std::optional<Rank> number = fold.number_of(in.rank);
    const bool is_paired = fold.is_paired(in.rank);
    if (!number) {
        const OpId given = schedule.send(from, fold.partner(in.rank));
        schedule.recv(into, fold.partner(in.rank), {in.in_place ? given : no_op});
        return ok;
    }
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(from, into);
        return ok;
    }

    // `result`: this rank's part of `vector` holds all operands combined so far.
    Region vector = from;
    OpId result = schedule.start();
    auto combine = [&](Part part, Rank peer) {
        const bool is_higher = peer > in.rank;
        const bool is_apart = vector.buffer != into.buffer;
        const Region own = part.of(vector, element);
        const Region mine = part.of(into, element);
        if (is_apart && (is_higher || in.agreed.commutative)) {
            // The operand arrives where the result will be. Only this rank computes it.
            const OpId arrived = schedule.recv(mine, peer);
            result = schedule.reduce(own, mine, {arrived, result});
            return;
        }
        if (is_apart) result = schedule.copy(own, mine, {result});
        const Region operand = schedule.scratch(own.bytes);
        const OpId arrived = schedule.recv(operand, peer);
        result = is_higher ? schedule.reduce_right(operand, mine, {arrived, result})
                           : schedule.reduce(operand, mine, {arrived, result});
    };
    if (is_paired) {
        combine(whole(in.agreed), fold.partner(in.rank));
        vector = into;
    }
    struct Exchange {
        Rank peer;
        Part part;      // before it
        OpId unneeded;  // the half given away may be overwritten
    };
    std::vector<Exchange> steps;
    Part part = whole(in.agreed);
    for (Rank bit = 1; bit < fold.standing; bit *= 2) {
        const Rank peer = fold.rank_of(*number ^ bit);
        const bool keeps_lower = in.rank < peer;
        const Part kept = keeps_lower ? part.lower() : part.upper();
        const Part given = keeps_lower ? part.upper() : part.lower();
        const OpId sent = schedule.send(given.of(vector, element), peer, {result});
        const bool is_apart = vector.buffer != into.buffer;
        combine(kept, peer);
        steps.push_back({peer, part, is_apart ? no_op : sent});
        vector = into;
        part = kept;
    }
    for (; !steps.empty(); steps.pop_back()) {
        const Exchange& step = steps.back();
        const bool has_lower = in.rank < step.peer;
        const Part missing = has_lower ? step.part.upper() : step.part.lower();
        schedule.send(part.of(into, element), step.peer, {result});
        const OpId arrived = schedule.recv(missing.of(into, element), step.peer, {step.unneeded});
        result = schedule.join({result, arrived});
        part = step.part;
    }
    if (is_paired) schedule.send(into, fold.partner(in.rank), {result});
    return ok;
}

std::int64_t exchanges(const Agreed& a) { return 2 * std::int64_t{floor_log2(a.ranks)}; }

// The first standing rank sends the most: it keeps the larger half each time.
std::int64_t sent_bytes(const Agreed& a) {
    if (a.ranks == 1) return 0;
    Part part = whole(a);
    std::int64_t elements = is_power_of_two(a.ranks) ? 0 : part.count;
    for (int step = 0; step < floor_log2(a.ranks); ++step, part = part.lower())
        elements += part.count;
    return elements * a.element_bytes;
}

}  // namespace

extern const Algorithm allreduce_rabenseifner = {
    .name = "rabenseifner",
    .source =
        "Rabenseifner: Optimization of Collective Reduction Operations, 2004, "
        "doi:10.1007/978-3-540-24685-5_1",
    .reproducible = Reproducible::powers_of_two,
    .rounds = [](const Agreed& a) { return exchanges(a) + (is_power_of_two(a.ranks) ? 0 : 2); },
    .sent_messages_max =
        [](const Agreed& a) { return exchanges(a) + (is_power_of_two(a.ranks) ? 0 : 1); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
