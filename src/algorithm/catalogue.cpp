#include "algorithm/catalogue.h"

#include <algorithm>
#include <iterator>

#include "algorithm/algorithms.h"

namespace weft::algorithm {

namespace {

// --- The algorithms of a collective ---

constexpr Collective listed_for[] = {
#define ALGORITHM(collective, constant) Collective::collective,
#include "algorithm/algorithms.def"
#undef ALGORITHM
};
constexpr const Algorithm* listed[] = {
#define ALGORITHM(collective, constant) &constant,
#include "algorithm/algorithms.def"
#undef ALGORITHM
};
static_assert(std::ranges::is_sorted(listed_for), "algorithms.def is in the order of Collective");

constexpr std::span<const Algorithm* const> algorithms_of(Collective collective) {
    const auto lines = std::ranges::equal_range(listed_for, collective);
    return std::span(listed).subspan(static_cast<std::size_t>(lines.begin() - listed_for),
                                     lines.size());
}

// --- What a collective promises ---

void synchronize(Postconditions& p) { p.synchronize(); }

void root_to_all(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({p.root(), 0}, {r, 0});
}

void all_to_root(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({r, 0}, {p.root(), r});
}

void own_block_of_root(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({p.root(), r}, {r, 0});
}

void all_to_all_ranks(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, 0}, {r, from});
    }
}

void exchange(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        for (Rank from = 0; from < p.ranks(); ++from) p.move({from, r}, {r, from});
    }
}

void combine_at_root(Postconditions& p) { p.combine(p.everyone(), 0, {p.root(), 0}); }

void combine_everywhere(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine(p.everyone(), 0, {r, 0});
}

void combine_own_block(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine(p.everyone(), r, {r, 0});
}

void combine_up_to_rank(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.combine({0, r}, 0, {r, 0});
}

void combine_below_rank(Postconditions& p) {
    for (Rank r = 1; r < p.ranks(); ++r) p.combine({0, r - 1}, 0, {r, 0});
}

// Every rank gets a block from each neighbor: the same block as others get, or its own.
template <bool is_same_block>
void from_neighbors(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        const Neighborhood& own = p.neighbors(r);
        for (std::size_t block = 0; block < own.sources.size(); ++block) {
            const Rank source = own.sources[block];
            if (source == no_rank) continue;
            const std::size_t sent = is_same_block ? 0 : own.origin(block, r, p.neighbors(source));
            p.move({source, static_cast<Rank>(sent)}, {r, static_cast<Rank>(block)});
        }
    }
}

// --- The collectives, in the order of Collective ---

constexpr CollectiveSpec specs[] = {
    // Barrier: no rank leaves before every rank has entered.
    {.collective = Collective::barrier,
     .name = "barrier",
     .promise = synchronize,
     .algorithms = algorithms_of(Collective::barrier)},
    // Broadcast: every rank gets the block of the root.
    {.collective = Collective::bcast,
     .name = "bcast",
     .has_root = true,
     .in_place = InPlace::root_has_one_buffer,
     .send = at_root(Blocks::one),
     .recv = everywhere(Blocks::one),
     .promise = root_to_all,
     .algorithms = algorithms_of(Collective::bcast)},
    // Gather: the root gets every rank's block, in rank order.
    {.collective = Collective::gather,
     .name = "gather",
     .has_root = true,
     .in_place = InPlace::send_at_root,
     .send = everywhere(Blocks::one),
     .recv = at_root(Blocks::all),
     .promise = all_to_root,
     .algorithms = algorithms_of(Collective::gather)},
    // Scatter: rank r gets the root's block r.
    {.collective = Collective::scatter,
     .name = "scatter",
     .has_root = true,
     .in_place = InPlace::recv_at_root,
     .send = at_root(Blocks::all),
     .recv = everywhere(Blocks::one),
     .promise = own_block_of_root,
     .algorithms = algorithms_of(Collective::scatter)},
    // Allgather: every rank gets every rank's block, in rank order.
    {.collective = Collective::allgather,
     .name = "allgather",
     .in_place = InPlace::send,
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::all),
     .promise = all_to_all_ranks,
     .algorithms = algorithms_of(Collective::allgather)},
    // Alltoall: block s of rank r's result is block r of rank s's contribution.
    {.collective = Collective::alltoall,
     .name = "alltoall",
     .in_place = InPlace::send,
     .send = everywhere(Blocks::all),
     .recv = everywhere(Blocks::all),
     .promise = exchange,
     .algorithms = algorithms_of(Collective::alltoall)},
    // Reduce: the root gets the combination of all ranks' blocks.
    {.collective = Collective::reduce,
     .name = "reduce",
     .has_root = true,
     .reduces = true,
     .in_place = InPlace::send_at_root,
     .send = everywhere(Blocks::one),
     .recv = at_root(Blocks::one),
     .promise = combine_at_root,
     .algorithms = algorithms_of(Collective::reduce)},
    // Allreduce: every rank gets the combination of all ranks' blocks.
    {.collective = Collective::allreduce,
     .name = "allreduce",
     .reduces = true,
     .in_place = InPlace::send,
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::one),
     .promise = combine_everywhere,
     .algorithms = algorithms_of(Collective::allreduce)},
    // Reduce-scatter: rank r gets the combination of all ranks' blocks r.
    {.collective = Collective::reduce_scatter_block,
     .name = "reduce_scatter_block",
     .reduces = true,
     .in_place = InPlace::send,
     .send = everywhere(Blocks::all),
     .recv = everywhere(Blocks::one),
     .promise = combine_own_block,
     .algorithms = algorithms_of(Collective::reduce_scatter_block)},
    // Allgatherv: every rank gets every rank's block; blocks may differ in size and lie anywhere.
    {.collective = Collective::allgatherv,
     .name = "allgatherv",
     .in_place = InPlace::send,
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::all),
     .sizes = Sizes::known_to_all,
     .promise = all_to_all_ranks,
     .algorithms = algorithms_of(Collective::allgatherv)},
    // Reduce-scatter: rank r gets the combination of all ranks' blocks r; blocks may differ in
    // size.
    {.collective = Collective::reduce_scatter,
     .name = "reduce_scatter",
     .reduces = true,
     .in_place = InPlace::send,
     .send = everywhere(Blocks::all),
     .recv = everywhere(Blocks::one),
     .sizes = Sizes::known_to_all,
     .promise = combine_own_block,
     .algorithms = algorithms_of(Collective::reduce_scatter)},
    // Scan: rank r gets the combination of the blocks of ranks 0..r.
    {.collective = Collective::scan,
     .name = "scan",
     .reduces = true,
     .in_place = InPlace::send,
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::one),
     .is_prefix = true,
     .promise = combine_up_to_rank,
     .algorithms = algorithms_of(Collective::scan)},
    // Exclusive scan: rank r gets the combination of the blocks of ranks 0..r-1; rank 0 gets
    // nothing.
    {.collective = Collective::exscan,
     .name = "exscan",
     .reduces = true,
     .in_place = InPlace::send,
     .send = everywhere(Blocks::one),
     .recv = {.root = Blocks::none, .others = Blocks::one},
     .is_prefix = true,
     .promise = combine_below_rank,
     .algorithms = algorithms_of(Collective::exscan)},
    // Gatherv: the root gets every rank's block; blocks may differ in size and lie anywhere.
    {.collective = Collective::gatherv,
     .name = "gatherv",
     .has_root = true,
     .in_place = InPlace::send_at_root,
     .send = everywhere(Blocks::one),
     .recv = at_root(Blocks::all),
     .sizes = Sizes::rank_local,
     .promise = all_to_root,
     .algorithms = algorithms_of(Collective::gatherv)},
    // Scatterv: every rank gets its block from the root; blocks may differ in size and lie
    // anywhere.
    {.collective = Collective::scatterv,
     .name = "scatterv",
     .has_root = true,
     .in_place = InPlace::recv_at_root,
     .send = at_root(Blocks::all),
     .recv = everywhere(Blocks::one),
     .sizes = Sizes::rank_local,
     .promise = own_block_of_root,
     .algorithms = algorithms_of(Collective::scatterv)},
    // Alltoallv: block s of rank r's result is block r of rank s's contribution; blocks may differ
    // in size and lie anywhere.
    {.collective = Collective::alltoallv,
     .name = "alltoallv",
     .in_place = InPlace::send,
     .send = everywhere(Blocks::all),
     .recv = everywhere(Blocks::all),
     .sizes = Sizes::rank_local,
     .promise = exchange,
     .algorithms = algorithms_of(Collective::alltoallv)},
    // Alltoallw: block s of rank r's result is block r of rank s's contribution; blocks may differ
    // in size and type, and lie anywhere.
    {.collective = Collective::alltoallw,
     .name = "alltoallw",
     .in_place = InPlace::send,
     .send = everywhere(Blocks::all),
     .recv = everywhere(Blocks::all),
     .sizes = Sizes::rank_local,
     .has_types = true,
     .promise = exchange,
     .algorithms = algorithms_of(Collective::alltoallw)},
    // Neighbor_allgather: every rank sends its contribution to all its neighbors in a topology, and
    // gets theirs.
    {.collective = Collective::neighbor_allgather,
     .name = "neighbor_allgather",
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::neighbors),
     .sizes = Sizes::uniform_per_rank,
     .promise = from_neighbors<true>,
     .algorithms = algorithms_of(Collective::neighbor_allgather)},
    // Neighbor_allgatherv: as neighbor_allgather; contributions may differ in size, and results lie
    // anywhere.
    {.collective = Collective::neighbor_allgatherv,
     .name = "neighbor_allgatherv",
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::neighbors),
     .sizes = Sizes::rank_local,
     .promise = from_neighbors<true>,
     .algorithms = algorithms_of(Collective::neighbor_allgatherv)},
    // Neighbor_alltoall: every rank sends a block to each of its neighbors in a topology, and gets
    // one from each.
    {.collective = Collective::neighbor_alltoall,
     .name = "neighbor_alltoall",
     .send = everywhere(Blocks::neighbors),
     .recv = everywhere(Blocks::neighbors),
     .sizes = Sizes::uniform_per_rank,
     .promise = from_neighbors<false>,
     .algorithms = algorithms_of(Collective::neighbor_alltoall)},
    // Neighbor_alltoallv: as neighbor_alltoall; blocks may differ in size and lie anywhere.
    {.collective = Collective::neighbor_alltoallv,
     .name = "neighbor_alltoallv",
     .send = everywhere(Blocks::neighbors),
     .recv = everywhere(Blocks::neighbors),
     .sizes = Sizes::rank_local,
     .promise = from_neighbors<false>,
     .algorithms = algorithms_of(Collective::neighbor_alltoallv)},
    // Neighbor_alltoallw: as neighbor_alltoallv; blocks may differ in type as well.
    {.collective = Collective::neighbor_alltoallw,
     .name = "neighbor_alltoallw",
     .send = everywhere(Blocks::neighbors),
     .recv = everywhere(Blocks::neighbors),
     .sizes = Sizes::rank_local,
     .has_types = true,
     .promise = from_neighbors<false>,
     .algorithms = algorithms_of(Collective::neighbor_alltoallw)},
};
static_assert(std::size(specs) == collectives);

}  // namespace

std::span<const CollectiveSpec> catalogue() { return specs; }

const CollectiveSpec& spec_of(Collective collective) {
    const CollectiveSpec& spec = specs[static_cast<std::size_t>(collective)];
    WEFT_ASSERT(spec.collective == collective);
    return spec;
}

const CollectiveSpec* find_spec(std::string_view collective) {
    for (const CollectiveSpec& spec : specs) {
        if (spec.name == collective) return &spec;
    }
    return nullptr;
}

}  // namespace weft::algorithm
