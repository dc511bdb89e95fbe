// Reduce-scatter by recursive halving: partners exchange the half of the blocks that the other one's side
// is to get, and combine what arrives with their own half. The number of ranks is a power of two; the
// operation commutes.
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t bytes = in.recv.bytes;
    if (in.ranks() == 1) {
        if (!in.in_place) schedule.copy(in.send.block(0), in.recv.block());
        return ok;
    }
    Rank half = in.ranks() / 2;
    auto first_of = [&](Rank rank) { return rank / half * half; };  // of its side's blocks
    Rank partner = in.rank ^ half;
    const OpId given = schedule.send(in.send.blocks(first_of(partner), half), partner);
    const Region sum = half == 1 && !in.in_place ? in.recv.block() : schedule.scratch(half * bytes);
    OpId result = schedule.reduce(in.send.blocks(first_of(in.rank), half), sum,
                                  {schedule.recv(sum, partner)});
    Rank first = first_of(in.rank);  // block in `sum`
    auto within = [&](Rank block) {
        return sum.part((block - first) * bytes, std::int64_t{half} * bytes);
    };
    while ((half /= 2) >= 1) {
        partner = in.rank ^ half;
        const Region operand = schedule.scratch(half * bytes);
        schedule.send(within(first_of(partner)), partner, {result});
        const OpId arrived = schedule.recv(operand, partner);
        result = schedule.reduce(operand, within(first_of(in.rank)), {result, arrived});
    }
    if (sum.buffer == Buffer::scratch) {
        half = 1;
        schedule.copy(within(in.rank), in.recv.block(), {result, in.in_place ? given : no_op});
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
