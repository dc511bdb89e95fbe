// Reduce-scatters, for blocks of one size and for blocks that differ.
#include <utility>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "algorithm/rank_order.h"
#include "shape/circulant.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

// This rank's operand is combined with the first one that arrives, as the second operand: that can
// be one pass.
static OpId combine_in_any_order(const Problem& in, Region own, Region sum,
                                 ScheduleBuilder& schedule) {
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

static void pairwise(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1 && in.in_place) return;
    schedule.expect(3 * static_cast<std::size_t>(in.ranks()));
    OpId sent = no_op;
    // In place the result overwrites the first block, or several if sizes differ; these may not
    // have been sent yet.
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
}

// Reduce-scatter in steps: in step i rank r sends block r + i to rank r + i, one message at a time,
// and combines what arrives, in order of arrival if the operation commutes. Any number of ranks,
// also for operations that do not commute.
extern const Algorithm reduce_scatter_pairwise = {
    .name = "pairwise",
    .source = thakur_2005,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes_of_others_max(); },
    .build = pairwise,
};

static void recursive_halving(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(in.send.block(0), in.recv.block());
        return;
    }
    const Places from(in.send, 0);  // in rank order
    Rank half = in.ranks() / 2;
    auto first_of = [&](Rank rank) { return rank / half * half; };  // of its side's blocks
    const Rank first = first_of(in.rank);                           // in `sum`
    Rank partner = in.rank ^ half;
    const Packed given = pack(from, first_of(partner), first_of(partner) + half, schedule);
    const OpId sent = schedule.send(given.region, partner, {given.ready});
    const Region sum = half == 1 && !in.in_place
                           ? in.recv.block()
                           : schedule.scratch(from.bytes(first, first + half));
    const OpId came = schedule.recv(sum, partner);
    OpId result = reduce_places(from, first, first + half, sum, came, schedule);
    auto within = [&](Rank block) {
        return sum.part(from.bytes(first, block), from.bytes(block, block + half));
    };
    while ((half /= 2) >= 1) {
        partner = in.rank ^ half;
        const Region own = within(first_of(in.rank));
        const Region operand = schedule.scratch(own.bytes);
        schedule.send(within(first_of(partner)), partner, {result});
        const OpId arrived = schedule.recv(operand, partner);
        result = schedule.reduce(operand, own, {result, arrived});
    }
    if (sum.buffer == Buffer::scratch) {
        half = 1;
        const OpId read = given.ready == no_op ? sent : given.ready;
        schedule.copy(within(in.rank), in.recv.block(), {result, in.in_place ? read : no_op});
    }
}

// Reduce-scatter by recursive halving: partners send each other the half of the blocks that belongs
// to the other's side, and combine what arrives with the half that they keep. The number of ranks
// is a power of two; the operation commutes.
extern const Algorithm reduce_scatter_recursive_halving = {
    .name = "recursive_halving",
    .source = thakur_2005,
    .needs = {.commutative = true, .ranks_are_a_power_of_ports_plus_1 = true},
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes_of_others_max(); },
    .build = recursive_halving,
};

static void circulant(const Problem& in, ScheduleBuilder& schedule) {
    reduce_scatter_places(Places(in.send, in.rank), circulant_skips(in.ranks()), in.recv.block(),
                          in.in_place, schedule);
}

// Reduce-scatter over a circulant graph: in each round a rank sends the later half of its partial
// results and combines the others with what arrives. Any number of ranks; the operation commutes.
extern const Algorithm reduce_scatter_circulant = {
    .name = "circulant",
    .source = traff_2024_reduce_scatter,
    .needs = {.commutative = true},
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes_of_others_max(); },
    .build = circulant,
};

}  // namespace weft::algorithm
