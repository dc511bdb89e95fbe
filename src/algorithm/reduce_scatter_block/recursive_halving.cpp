// Reduce-scatter by recursive halving: partners send each other the half of the blocks that belongs to the other's
// side, and combine what arrives with the half that they keep. The number of ranks is a power of two; the operation
// commutes.
#include "algorithm/places.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(in.send.block(0), in.recv.block());
        return ok;
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
    return ok;
}

}  // namespace

extern const Algorithm reduce_scatter_block_recursive_halving = {
    .name = "recursive_halving",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .needs = {.commutative = true, .ranks_are_a_power_of_ports_plus_1 = true},
    .rounds = [](const Agreed& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
