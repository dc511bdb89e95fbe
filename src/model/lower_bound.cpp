#include "model/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "algorithm/catalogue.h"
#include "shape/power.h"

namespace weft::model {
namespace {

using algorithm::Agreed;
using algorithm::Blocks;
using algorithm::Family;

// At least so many bytes go into some node, or out of one.
std::int64_t bytes_of_busiest(const Family& family, const Agreed& agreed, Rank ranks_per_node) {
    const Rank nodes = agreed.ranks / ranks_per_node;
    if (agreed.collective == Collective::allreduce)
        return 2 * (times(nodes - 1, agreed.bytes) / nodes);
    const std::int64_t others = times(agreed.ranks - ranks_per_node, agreed.bytes);
    // Each of the node's ranks has a block for each other rank.
    if (agreed.collective == Collective::alltoall) return times(ranks_per_node, others);
    return family.has_block_of_every_rank() ? others : agreed.bytes;
}

// Whether some rank sends as many bytes as go through one side of its interface, and receives as many.
bool sends_and_receives(const Family& family) {
    return family.collective == Collective::allreduce || family.send.others == Blocks::all ||
           family.recv.others == Blocks::all;
}

// At least so many bytes are combined by some rank.
std::int64_t combined_by_busiest(const Family& family, const Agreed& agreed) {
    if (!family.reduces) return 0;
    if (family.send.root == Blocks::all)  // one for each rank
        return times(agreed.ranks - 1, agreed.bytes);
    const Rank operands = agreed.collective == Collective::exscan ? 2 : 1;
    return times(agreed.ranks - operands, agreed.bytes) / agreed.ranks;
}

bool has_bound(const Family& family) {
    return family.sizes == algorithm::Sizes::alike && !family.is_among_neighbors();
}

bool is_over_at_once(const Family& family, const Agreed& agreed) {
    return agreed.ranks == 1 || (family.has_data() && agreed.bytes == 0);
}

// Of one end of a message.
std::int64_t cpu_ps(const LogGpParameters& p, std::int64_t bytes) {
    return plus(p.overhead_ps, times(after_first(bytes), p.byte_overhead_ps));
}
std::int64_t interface_ps(const LogGpParameters& p, std::int64_t bytes) {
    return plus(p.gap_ps, times(after_first(bytes), p.byte_gap_ps));
}
// From one end to the other.
std::int64_t way_ps(const LogGpParameters& p, std::int64_t bytes) {
    return plus(times(2, cpu_ps(p, bytes)),
                plus(p.latency_ps, times(after_first(bytes), p.byte_gap_ps)));
}

// Of a broadcast of so many blocks in rounds.
std::int64_t rounds_ps(const LogGpParameters& p, Rank ranks, std::int64_t bytes,
                       std::int64_t blocks) {
    return times(blocks - 1 + ceil_log2(ranks), way_ps(p, 1 + (bytes - 1) / blocks));
}

}  // namespace

std::int64_t least_time_to_all(Rank number, std::span<const Teller> tellers) {
    // When those who know the item have told it to the next ones, by teller, and how many there are of them.
    std::map<std::pair<std::int64_t, std::size_t>, std::int64_t> told;
    const auto begin = [&](std::int64_t now_ps, std::int64_t by) {
        for (std::size_t i = 0; i < tellers.size(); ++i)
            told[{plus(now_ps, tellers[i].way_ps), i}] += by;
    };
    begin(0, 1);
    std::int64_t now_ps = 0;
    for (std::int64_t informed = 1; informed < number;) {
        const auto [at, by] = *told.begin();
        told.erase(told.begin());
        now_ps = at.first;
        const std::int64_t more = times(by, tellers[at.second].at_a_time);
        informed += more;
        told[{plus(now_ps, tellers[at.second].again_ps), at.second}] += by;
        begin(now_ps, more);
    }
    return now_ps;
}

std::int64_t least_time_to_all(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    const Teller teller{way_ps(p, bytes), std::max(cpu_ps(p, bytes), interface_ps(p, bytes))};
    return least_time_to_all(ranks, {&teller, 1});
}

std::optional<LeastWork> least_work(const Agreed& agreed, Rank ranks_per_node) {
    const Family& family = algorithm::family_of(agreed.collective);
    if (!has_bound(family)) return std::nullopt;
    LeastWork work;
    if (is_over_at_once(family, agreed)) return work;
    work.spreads = !family.has_data() || family.recv.others != Blocks::none;
    work.collects = !family.has_data() || family.send.others != Blocks::none;
    work.leaves = family.recv.root != Blocks::all || family.recv.others != Blocks::none;
    if (family.has_data()) work.node_bytes = bytes_of_busiest(family, agreed, ranks_per_node);
    work.combined_bytes = combined_by_busiest(family, agreed);
    return work;
}

std::optional<std::int64_t> lower_bound(const Agreed& agreed, const LogGpParameters& p) {
    const Family& family = algorithm::family_of(agreed.collective);
    if (!has_bound(family)) return std::nullopt;
    if (is_over_at_once(family, agreed)) return 0;
    const std::int64_t items_ps = least_time_to_all(p, agreed.ranks);
    if (!family.has_data()) return items_ps;
    // A further message takes g and o, a further byte G and O: no byte takes less than the smaller one.
    const std::int64_t byte_cpu_ps = std::min(p.overhead_ps, p.byte_overhead_ps);
    const std::int64_t byte_ps = std::max({std::min(p.gap_ps, p.byte_gap_ps), byte_cpu_ps,
                                           least_byte_ps(p.byte_gap_ps, p.overhead_ps)});
    const std::int64_t further_bytes = after_first(bytes_of_busiest(family, agreed, 1));
    const std::int64_t bytes_ps =
        plus(2 * p.overhead_ps + p.latency_ps, times(further_bytes, byte_ps));
    const std::int64_t both_ps =
        sends_and_receives(family)
            ? times(2, plus(p.overhead_ps, times(further_bytes, byte_cpu_ps)))
            : 0;
    const std::int64_t combining_ps =
        times(combined_by_busiest(family, agreed), p.byte_reduction_ps);
    return std::max({items_ps, bytes_ps, both_ps, combining_ps});
}

std::optional<std::int64_t> lower_bound_uncut(const Agreed& agreed, const LogGpParameters& p) {
    const Family& family = algorithm::family_of(agreed.collective);
    const std::optional<std::int64_t> of_any = lower_bound(agreed, p);
    if (!of_any || is_over_at_once(family, agreed)) return of_any;
    return std::max(*of_any, least_time_to_all(p, agreed.ranks, agreed.bytes));
}

std::int64_t lower_bound_direct_alltoall(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    if (ranks == 1 || bytes == 0) return 0;
    const std::int64_t each_ps = std::max(cpu_ps(p, bytes), interface_ps(p, bytes));
    return std::max(times(ranks - 1, 2 * cpu_ps(p, bytes)),
                    plus(way_ps(p, bytes), times(ranks - 2, each_ps)));
}

std::int64_t best_bcast_in_rounds(const LogGpParameters& p, Rank ranks, std::int64_t bytes) {
    if (ranks == 1 || bytes == 0) return 0;
    // With k blocks (k - 1 + q)(A + B/k): least at k^2 = (q - 1)B/A. (In real numbers: nobody chooses by it.)
    const auto start_ps = static_cast<double>(std::max<std::int64_t>(way_ps(p, 1), 1));
    const auto all_ps =
        static_cast<double>(bytes) * static_cast<double>(p.byte_gap_ps + 2 * p.byte_overhead_ps);
    const double best = std::sqrt((ceil_log2(ranks) - 1) * all_ps / start_ps);
    std::int64_t least_ps = time_max_ps;
    for (const double blocks : {std::floor(best), std::ceil(best)}) {
        const auto whole = static_cast<std::int64_t>(
            std::clamp(blocks, 1.0, static_cast<double>(std::min(bytes, time_max_ps))));
        least_ps = std::min(least_ps, rounds_ps(p, ranks, bytes, whole));
    }
    return least_ps;
}

std::optional<std::int64_t> lower_bound_uncut(const Agreed& agreed, const LogGpParameters& p,
                                              const TorusLinks& links) {
    const Family& family = algorithm::family_of(agreed.collective);
    if (!has_bound(family)) return std::nullopt;
    if (is_over_at_once(family, agreed)) return 0;
    // From end to end a byte takes what the slower one of interface and link does.
    LogGpParameters slower = p;
    slower.latency_ps = plus(p.latency_ps, links.hop_ps);
    slower.byte_gap_ps = std::max(p.byte_gap_ps, links.byte_ps);
    // The receiving side's g is beside the bytes of the next message.
    const std::int64_t bytes_ps = times(after_first(agreed.bytes), p.byte_gap_ps);
    const Teller teller{way_ps(slower, agreed.bytes),
                        std::max({cpu_ps(p, agreed.bytes), p.gap_ps, bytes_ps})};
    const std::int64_t items_ps = least_time_to_all(agreed.ranks, {&teller, 1});
    const std::int64_t block = after_first(agreed.bytes);
    Rank dimensions = 0;
    std::int64_t crossing_ps = 0;
    for (const Rank size : links.torus.sizes()) {
        if (size == 1) continue;
        ++dimensions;
        // Of all blocks over the links of this dimension, on average N(k-1)/2 on each.
        if (agreed.collective != Collective::alltoall) continue;
        const std::int64_t twice = times(agreed.ranks, times(size - 1, block));
        crossing_ps = std::max(crossing_ps, times(twice, links.byte_ps) / 2);
    }
    const bool has_all = family.has_block_of_every_rank();
    const std::int64_t ending = times(has_all ? agreed.ranks - 1 : 1, block);
    const std::int64_t node_ps = std::max(times(ending, p.byte_gap_ps),
                                          times(ending, links.byte_ps) / std::max(dimensions, 1));
    const std::int64_t start_ps = plus(2 * p.overhead_ps, slower.latency_ps);
    return std::max({items_ps, plus(start_ps, crossing_ps), plus(start_ps, node_ps),
                     times(combined_by_busiest(family, agreed), p.byte_reduction_ps)});
}

}  // namespace weft::model
