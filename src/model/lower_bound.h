// Times that no algorithm for a collective beats in LogGP, or none of a kind.
//
// They hold where every rank has one CPU, which handles all messages, and one interface; not for offloaded
// messages (sim/lower_bound.h).
// In ps. Nothing: blocks differ, or the collective is among neighbors.
#pragma once

#include <optional>
#include <span>

#include "algorithm/family.h"
#include "model/loggp.h"
#include "shape/torus.h"

namespace weft::model {

// How long it takes until all ranks know one item, which moves in messages of so many bytes, if each passes it on as
// soon and as often as it can. The other way round, until one rank knows something of all others.
//
// Richard Karp, Abhijit Sahay, Eunice Santos, Klaus Schauser: Optimal Broadcast and Summation in the LogP
// Model, 1993
std::int64_t least_time_to_all(const LogGpParameters& parameters, Rank ranks,
                               std::int64_t bytes = 1);

// How whoever knows an item tells it to others: to so many at a time, who know it `way_ps` later; to the next ones
// `again_ps` after them.
struct Teller {
    std::int64_t way_ps = 0;
    std::int64_t again_ps = 0;
    Rank at_a_time = 1;
};
// How long it takes until so many know the item, if each tells it in all these ways.
std::int64_t least_time_to_all(Rank number, std::span<const Teller> tellers);

// What any algorithm has to do, where ranks share nodes, of which there are several.
struct LeastWork {
    bool spreads = false;             // all ranks depend on one
    bool collects = false;            // one rank depends on all
    std::int64_t node_bytes = 0;      // so many enter some node, or leave one
    bool leaves = false;              // so many leave one
    std::int64_t combined_bytes = 0;  // by some rank
};
// Nothing: the bounds here give nothing either. All is 0 if there is nothing to do.
std::optional<LeastWork> least_work(const algorithm::Agreed& agreed, Rank ranks_per_node = 1);

// What a byte takes at least where bytes take `byte_ps`, but for the first one of every message, and messages `message_ps`
// beside that.
constexpr std::int64_t least_byte_ps(std::int64_t byte_ps, std::int64_t message_ps) {
    const std::int64_t both_ps = plus(byte_ps, message_ps);
    return both_ps == 0 ? 0 : times(byte_ps, message_ps) / both_ps;
}

// Of any algorithm, but not on a torus: the largest of the times that the items, the bytes through one network
// interface and one CPU, and the combining need.
//
// Bytes: Ernie Chan, Marcel Heimlich, Avi Purkayastha, Robert van de Geijn: Collective communication:
// theory, practice, and experience, 2007, doi:10.1002/cpe.1206; of allreduce: Pitch Patarasuk, Xin Yuan:
// Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009, doi:10.1016/j.jpdc.2008.09.002
std::optional<std::int64_t> lower_bound(const algorithm::Agreed& agreed,
                                        const LogGpParameters& parameters);

// Of algorithms that cut no block (a vector that is combined is one): at least so much time, and also that of an item
// of a block's bytes.
std::optional<std::int64_t> lower_bound_uncut(const algorithm::Agreed& agreed,
                                              const LogGpParameters& parameters);

// Of alltoalls that send every block straight to its rank, by itself: all messages pass the CPU of the sender and of
// the receiver, and one interface.
std::int64_t lower_bound_direct_alltoall(const LogGpParameters& parameters, Rank ranks,
                                         std::int64_t bytes);

// Not a bound: what a broadcast in rounds takes, in which every rank passes on at most one block a round and blocks
// are alike, if there are as many as is best. A pipeline whose rounds overlap may take less.
//
// Amotz Bar-Noy, Shlomo Kipnis: Multiple message broadcasting in the postal model, 1997; about
// (sqrt((q-1)A) + sqrt(nG))^2 for n bytes, q rounds of one block and A = 2o + L
std::int64_t best_bcast_in_rounds(const LogGpParameters& parameters, Rank ranks,
                                  std::int64_t bytes);

// The links of a torus (shape/torus.h), and what they take.
struct TorusLinks {
    const Torus& torus;
    std::int64_t byte_ps = 0;
    std::int64_t hop_ps = 0;  // for each link on the way
};

// Of algorithms that cut no block, with a rank at each node: an item; what enters or leaves a node, through its
// interface and its links; and of alltoalls the way of all blocks, which is equally long whoever passes them on.
std::optional<std::int64_t> lower_bound_uncut(const algorithm::Agreed& agreed,
                                              const LogGpParameters& parameters,
                                              const TorusLinks& links);

}  // namespace weft::model
