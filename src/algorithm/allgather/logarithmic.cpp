// Allgathers in logarithmically many rounds: Bruck, standard exchange, and the circulant graph.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "shape/circulant.h"
#include "shape/power.h"

namespace weft::algorithm {

static void bruck(const Problem& in, ScheduleBuilder& schedule) {
    std::vector<Rank> reach = {1};
    while (reach.back() < in.ranks()) {
        const std::int64_t next = std::int64_t{reach.back()} * in.agreed.tuning.radix();
        reach.push_back(static_cast<Rank>(std::min<std::int64_t>(next, in.ranks())));
    }
    gather_places(in, reach, schedule);
}

static std::int64_t sent_messages(const GlobalArgs& a) {
    std::int64_t messages = 0;
    for (std::int64_t reach = 1; reach < a.ranks; reach *= a.tuning.ports + 1) {
        messages += std::min<std::int64_t>(a.tuning.ports, (a.ranks - 1) / reach);
    }
    return messages;
}

// Allgather in ceil(log_(k+1) ranks) rounds, with k ports: each round multiplies the number of
// blocks that a rank holds by k + 1; the last one may be partial. A rank gets blocks from ranks
// ahead of it and passes them on to ranks behind it. For small blocks and any number of ranks.
extern const Algorithm allgather_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 4 (concatenation)",
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = bruck,
};

static void standard_exchange(const Problem& in, ScheduleBuilder& schedule) {
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
}

static std::int64_t rounds(const GlobalArgs& a) { return ceil_log(a.tuning.radix(), a.ranks); }

// Allgather by exchange among groups of k + 1 ranks, with k ports: in each round a rank sends all
// blocks that it has to the k others of its group, so what it holds grows by the factor k + 1. With
// one port these are pairs, as in recursive doubling. The number of ranks is a power of k + 1.
//
// In round j a rank exchanges with the k ranks that differ from it only in digit j, in base k + 1.
// It then holds the blocks of the ranks that differ from it only in lower digits. These are
// consecutive, so every message lands where it belongs. (The paper prints p + (k+1)^j modulo N for
// the partner, but then blocks would be missing. Its table I shows the exchange.)
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
    .sent_messages_max = [](const GlobalArgs& a) { return rounds(a) * a.tuning.ports; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = standard_exchange,
};

static void circulant(const Problem& in, ScheduleBuilder& schedule) {
    gather_places(in, circulant_skips(in.ranks()), schedule);
}

// Allgather over a circulant graph: in each round a rank gets about as many blocks as it has.
// Any number of ranks.
extern const Algorithm allgather_circulant = {
    .name = "circulant",
    .source = traff_2024_reduce_scatter,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max =
        [](const GlobalArgs& a) {
            if (a.sizes.empty()) return a.bytes * (a.ranks - 1);
            return std::ranges::max(gather_bytes(a.sizes, circulant_skips(a.ranks)));
        },
    .build = circulant,
};

}  // namespace weft::algorithm
