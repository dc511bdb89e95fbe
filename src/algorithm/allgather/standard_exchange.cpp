// Allgather by exchange among groups of k + 1 ranks, with k ports: in each round a rank sends all
// blocks that it has to the k others of its group, so what it holds grows by the factor k + 1. With
// one port these are pairs, as in recursive doubling. The number of ranks is a power of k + 1.
//
// In round j a rank exchanges with the k ranks that differ from it only in digit j, in base k + 1.
// It then holds the blocks of the ranks that differ from it only in lower digits. These are
// consecutive, so every message lands where it belongs. (The paper prints p + (k+1)^j modulo N for
// the partner, but then blocks would be missing. Its table I shows the exchange.)
#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Rank radix = in.agreed.tuning.radix();
    OpId ready = schedule.start();
    if (!in.in_place) ready = schedule.copy(in.send.block(), in.recv.block(in.rank));
    for (Rank weight = 1; weight < in.ranks(); weight *= radix) {
        auto held_by = [&](Rank rank) { return in.recv.blocks(rank / weight * weight, weight); };
        OpId so_far = ready;
        for (Rank by = 1; by < radix; ++by) {
            const Rank to = turn_digit(in.rank, radix, weight, by);
            const Rank from = turn_digit(in.rank, radix, weight, radix - by);
            if (weight == 1) {
                schedule.send(in.send.block(), to);
            } else {
                schedule.send(held_by(in.rank), to, {ready});
            }
            so_far = schedule.join({so_far, schedule.recv(held_by(from), from)});
        }
        ready = so_far;
    }
    return ok;
}

std::int64_t rounds(const Agreed& a) { return ceil_log(a.tuning.radix(), a.ranks); }

}  // namespace

extern const Algorithm allgather_standard_exchange = {
    .name = "standard_exchange",
    .source =
        "Inozemtsev, Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using "
        "CORE-Direct, IEEE CLUSTER 2012, section IV; with one port (recursive doubling) Thakur, "
        "Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005, "
        "doi:10.1177/1094342005051521",
    .needs = {.ranks_are_a_power_of_ports_plus_1 = true},
    .tunes = Tunes::ports,
    .rounds = rounds,
    .sent_messages_max = [](const Agreed& a) { return rounds(a) * a.tuning.ports; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
