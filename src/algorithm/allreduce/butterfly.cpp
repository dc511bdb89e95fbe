// Allreduces along a butterfly (shape/butterfly.h), for any number of ranks: ranks beyond a power
// of two first fold into their neighbors, which return the result. The
// algorithms differ in the butterfly, and in what partners exchange: all they have, or halves.
#include <optional>
#include <utility>
#include <vector>

#include "algorithm/algorithm.h"
#include "shape/bine.h"
#include "shape/butterfly.h"

namespace weft::algorithm {
namespace {

// Results that a standing rank returns to the one it stands for.
std::int64_t returns(const GlobalArgs& a) { return is_power_of_two(a.ranks) ? 0 : 1; }

// This rank's partner stands for it: it gets the operand and returns the result.
void build_folded(const Problem& in, Rank partner, ScheduleBuilder& schedule) {
    OpId given = schedule.send(in.send.block(), partner);
    schedule.recv(in.recv.block(), partner, {in.in_place ? given : no_op});
}

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

Part whole(const GlobalArgs& a) { return {0, a.bytes / a.element_bytes}; }

// In every step partners exchange all that they have combined so far, and both combine the two.
struct WholeExchange {
    static void build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule);
    static std::int64_t rounds(const GlobalArgs& a);
    static std::int64_t sent_messages_max(const GlobalArgs& a);
    static std::int64_t sent_bytes_max(const GlobalArgs& a);
};

// In every step partners exchange halves of the vector and combine them, until every rank has the
// result of its part; then they exchange the parts in the opposite order.
struct HalvesExchange {
    static void build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule);
    static std::int64_t rounds(const GlobalArgs& a);
    static std::int64_t sent_messages_max(const GlobalArgs& a);
    static std::int64_t sent_bytes_max(const GlobalArgs& a);
};

void WholeExchange::build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule) {
    const Region from = in.send.block();
    const Region into = in.recv.block();
    const Fold fold(in.ranks());
    const std::optional<Rank> number = fold.number_of(in.rank);
    if (!number) {
        build_folded(in, fold.partner(in.rank), schedule);
        return;
    }

    // `result` completes when `into` holds all operands combined so far.
    OpId result = schedule.start();
    if (!in.in_place) result = schedule.copy(from, into);
    if (in.ranks() == 1) return;

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
    WEFT_ASSERT(along.has_order);
    const Rank sides = along.sides(*number, fold.standing);
    bool own = !paired;  // so far there is only this rank's operand
    for (int step = 0; step < floor_log2(fold.standing); ++step) {
        const Rank peer = fold.rank_of(along.partner(*number, fold.standing, step));
        OpId sent = own ? schedule.send(from, peer) : schedule.send(into, peer, {result});
        OpId unread = own && !in.in_place ? no_op : sent;  // `into` may be overwritten
        OpId arrived = schedule.recv(operand, peer, {free});
        const bool is_second = (sides >> step & 1) != 0;
        turn(is_second ? schedule.reduce(operand, into, {result, arrived, unread})
                       : schedule.reduce_right(operand, into, {result, arrived, unread}));
        own = false;
    }
    if (paired) schedule.send(into, fold.partner(in.rank), {result});
}

std::int64_t WholeExchange::rounds(const GlobalArgs& a) {
    return floor_log2(a.ranks) + 2 * returns(a);
}

std::int64_t WholeExchange::sent_messages_max(const GlobalArgs& a) {
    return floor_log2(a.ranks) + returns(a);
}

std::int64_t WholeExchange::sent_bytes_max(const GlobalArgs& a) {
    return a.bytes * sent_messages_max(a);
}

void HalvesExchange::build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule) {
    const Region from = in.send.block();
    const Region into = in.recv.block();
    const std::int64_t element = in.agreed.element_bytes;
    const Fold fold(in.ranks());
    const std::optional<Rank> number = fold.number_of(in.rank);
    const bool is_paired = fold.is_paired(in.rank);
    if (!number) {
        build_folded(in, fold.partner(in.rank), schedule);
        return;
    }
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(from, into);
        return;
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
        bool keeps_lower;
        Part part;      // before it
        OpId unneeded;  // the half given away may be overwritten
    };
    std::vector<Exchange> steps;
    Part part = whole(in.agreed);
    WEFT_ASSERT(along.has_halves);
    const Rank sides = along.sides(*number, fold.standing);
    for (int step = 0; step < floor_log2(fold.standing); ++step) {
        const Rank peer = fold.rank_of(along.partner(*number, fold.standing, step));
        const bool keeps_lower = (sides >> step & 1) == 0;
        const Part kept = keeps_lower ? part.lower() : part.upper();
        const Part given = keeps_lower ? part.upper() : part.lower();
        const OpId sent = schedule.send(given.of(vector, element), peer, {result});
        const bool is_apart = vector.buffer != into.buffer;
        combine(kept, peer);
        steps.push_back({peer, keeps_lower, part, is_apart ? no_op : sent});
        vector = into;
        part = kept;
    }
    for (; !steps.empty(); steps.pop_back()) {
        const Exchange& step = steps.back();
        const Part missing = step.keeps_lower ? step.part.upper() : step.part.lower();
        schedule.send(part.of(into, element), step.peer, {result});
        const OpId arrived = schedule.recv(missing.of(into, element), step.peer, {step.unneeded});
        result = schedule.join({result, arrived});
        part = step.part;
    }
    if (is_paired) schedule.send(into, fold.partner(in.rank), {result});
}

std::int64_t HalvesExchange::rounds(const GlobalArgs& a) {
    return 2 * (floor_log2(a.ranks) + returns(a));
}

std::int64_t HalvesExchange::sent_messages_max(const GlobalArgs& a) {
    return 2 * floor_log2(a.ranks) + returns(a);
}

// The first standing rank sends the most: it keeps the lower half each time, which is not the
// smaller one.
std::int64_t HalvesExchange::sent_bytes_max(const GlobalArgs& a) {
    if (a.ranks == 1) return 0;
    Part part = whole(a);
    std::int64_t elements = returns(a) * part.count;
    for (int step = 0; step < floor_log2(a.ranks); ++step, part = part.lower())
        elements += part.count;
    return elements * a.element_bytes;
}

}  // namespace

// Allreduce by recursive doubling, with the whole vector in every message: in round k partners at
// distance 2^k exchange their partial results, and both combine the two. Few rounds, but much data:
// for small vectors. Any number of ranks, also for operations that do not commute.
//
// Partners combine the lower ranks' operand with the higher ranks', in this order: operands stay in
// rank order, and all ranks get the same bits.
extern const Algorithm allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .source = thakur_2005,
    .reproducible = Reproducible::powers_of_two,
    .rounds = WholeExchange::rounds,
    .sent_messages_max = WholeExchange::sent_messages_max,
    .sent_bytes_max = WholeExchange::sent_bytes_max,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { WholeExchange::build(in, hypercube, schedule); },
};

// Allreduce by recursive halving and doubling: partners exchange halves of the vector and combine
// them, until every rank has the result of its part; then they exchange the parts in the opposite
// order. Any number of ranks, also for operations that do not commute.
//
// The nearest ranks are partners first, so that operands stay in rank order.
extern const Algorithm allreduce_rabenseifner = {
    .name = "rabenseifner",
    .source =
        "Rabenseifner: Optimization of Collective Reduction Operations, 2004, "
        "doi:10.1007/978-3-540-24685-5_1",
    .reproducible = Reproducible::powers_of_two,
    .rounds = HalvesExchange::rounds,
    .sent_messages_max = HalvesExchange::sent_messages_max,
    .sent_bytes_max = HalvesExchange::sent_bytes_max,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { HalvesExchange::build(in, hypercube, schedule); },
};

static void bine(const Problem& in, ScheduleBuilder& schedule) {
    WholeExchange::build(in, bine_halving, schedule);
}

// Allreduce along a Bine butterfly, with the whole vector in every message, as in recursive
// doubling, but with shorter ways: partners are at first about a third of the ranks apart instead
// of half of them, then half as far in each round, and both combine their partial results. For
// small vectors; `swing` is the one for large vectors. Any number of ranks, as those beyond a power
// of two first fold into their neighbors; the operation has to commute.
//
// The farthest partners come first: ranks that have the same operands then combine them in the same
// order, so that all ranks get the same bits. With the nearest first they would not.
extern const Algorithm allreduce_bine = {
    .name = "bine",
    .source =
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (small vectors)",
    .needs = {.commutative = true},
    .rounds = WholeExchange::rounds,
    .sent_messages_max = WholeExchange::sent_messages_max,
    .sent_bytes_max = WholeExchange::sent_bytes_max,
    .build = bine,
};

static void swing(const Problem& in, ScheduleBuilder& schedule) {
    HalvesExchange::build(in, bine_doubling, schedule);
}

// Allreduce as a reduce-scatter and an allgather in which partners are 1, 1, 3, 5, 11, ... ranks
// apart, in alternate directions around a ring: on a network that is a ring, messages take shorter
// ways than in recursive halving and doubling, and the rounds and bytes are the same. Any number of
// ranks: those beyond a power of two first fold into their neighbors. The operation has to commute.
//
// Parts are numbered as in Bine trees, so that what a rank sends in a round is contiguous: both
// papers have the same partners.
extern const Algorithm allreduce_swing = {
    .name = "swing",
    .source =
        "De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting Rings for Higher Bandwidth "
        "Allreduce, 2024, arXiv:2401.09356 (on a ring, one port); the numbering of parts after "
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835",
    .needs = {.commutative = true},
    .rounds = HalvesExchange::rounds,
    .sent_messages_max = HalvesExchange::sent_messages_max,
    .sent_bytes_max = HalvesExchange::sent_bytes_max,
    .build = swing,
};

}  // namespace weft::algorithm
