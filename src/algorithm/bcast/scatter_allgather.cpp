// Broadcast as a scatter along a binomial tree and an allgather around a ring: the vector is cut
// into one block per rank. Any number of ranks, any root. Zero bytes need no messages.
//
// Blocks are numbered by distance from the root. The scatter leaves on each rank the blocks of its
// subtree, which the ring need not send again. Blocks hold whole elements; those of the last ranks
// may be empty and are not sent.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/power.h"
#include "shape/ring.h"
#include "shape/tree.h"

namespace weft::algorithm {
namespace {

// Consecutive blocks of the vector.
Region blocks(const Problem& in, Rank first, Rank count) {
    const Region begin = part_of_rank(in.agreed, in.recv.block(), first);
    const Region last = part_of_rank(in.agreed, in.recv.block(), first + count - 1);
    return {begin.buffer, begin.offset, last.offset + last.bytes - begin.offset};
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Rank ranks = in.ranks();
    auto subtree_of = [&](const Tree& tree) { return blocks(in, tree.distance, tree.subtree); };
    const Tree tree = binomial_tree(in.rank, ranks, in.root());
    OpId scattered = schedule.start();
    if (tree.parent && subtree_of(tree).bytes > 0)
        scattered = schedule.recv(subtree_of(tree), *tree.parent);
    for (const Rank child : tree.children) {
        const Region part = subtree_of(binomial_tree(child, ranks, in.root()));
        if (part.bytes > 0) schedule.send(part, child, {scattered});
    }

    const Neighbours beside = ring_neighbours(in.rank, ranks);
    const Tree next = binomial_tree(beside.to, ranks, in.root());
    Rank block = tree.distance;  // that this rank passes on
    OpId there = scattered;
    for (Rank step = 1; step < ranks; ++step) {
        const Region passed = blocks(in, block, 1);
        // The last blocks that would arrive are those of the subtree.
        if (step <= ranks - next.subtree && passed.bytes > 0)
            schedule.send(passed, beside.to, {there});
        block = around(block, -1, ranks);
        const Region arriving = blocks(in, block, 1);
        there = scattered;
        if (step <= ranks - tree.subtree && arriving.bytes > 0)
            there = schedule.recv(arriving, beside.from);
    }
}

// Blocks that are not empty.
std::int64_t filled(const GlobalArgs& a) {
    return a.ranks == 1 ? 0 : std::min<std::int64_t>(a.bytes / a.element_bytes, a.ranks);
}

std::int64_t scatter_rounds(const GlobalArgs& a) { return ceil_log2(static_cast<Rank>(filled(a))); }

// The root sends the most: all blocks but its own in the scatter, and all but the next rank's in
// the ring.
std::int64_t sent_bytes(const GlobalArgs& a) {
    if (filled(a) <= 1) return a.bytes * filled(a);
    const Region vector = {.bytes = a.bytes};
    return 2 * a.bytes - part_of_rank(a, vector, 0).bytes - part_of_rank(a, vector, 1).bytes;
}

}  // namespace

extern const Algorithm bcast_scatter_allgather = {
    .name = "scatter_allgather",
    .source =
        "Zhou, Marjanovic, Niethammer, Gracia: A Bandwidth-saving Optimization for MPI Broadcast "
        "Collective Operation, 2015, arXiv:1603.06809; after Barnett et al.: Interprocessor "
        "Collective Communication Library (InterCom), 1994",
    .rounds =
        [](const GlobalArgs& a) { return filled(a) == 0 ? 0 : scatter_rounds(a) + a.ranks - 1; },
    .sent_messages_max =
        [](const GlobalArgs& a) {
            return filled(a) <= 1 ? filled(a) : scatter_rounds(a) + filled(a) - 1;
        },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
