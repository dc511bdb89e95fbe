#include "sim/lower_bound.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"

namespace weft::simulate {
namespace {

using algorithm::Blocks;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;
using model::after_first;
using model::plus;
using model::times;

// The least number of bytes that enter some node, or leave one.
std::int64_t bytes_of_busiest(const CollectiveSpec& spec, const GlobalArgs& agreed,
                              Rank ranks_per_node) {
    const Rank nodes = agreed.ranks / ranks_per_node;
    if (agreed.collective == Collective::allreduce)
        return 2 * (times(nodes - 1, agreed.bytes) / nodes);
    const std::int64_t others = times(agreed.ranks - ranks_per_node, agreed.bytes);
    // Each of the node's ranks has a block for each other rank.
    if (agreed.collective == Collective::alltoall) return times(ranks_per_node, others);
    return spec.has_block_of_every_rank() ? others : agreed.bytes;
}

// The least number of bytes that some rank combines.
std::int64_t combined_by_busiest(const CollectiveSpec& spec, const GlobalArgs& agreed) {
    if (!spec.reduces) return 0;
    if (spec.send.root == Blocks::all)  // one for each rank
        return times(agreed.ranks - 1, agreed.bytes);
    const Rank operands = agreed.collective == Collective::exscan ? 2 : 1;
    return times(agreed.ranks - operands, agreed.bytes) / agreed.ranks;
}

// What any algorithm has to do, where ranks share nodes, of which there are several.
struct LeastWork {
    bool spreads = false;             // all ranks depend on one
    bool collects = false;            // one rank depends on all
    std::int64_t rank_bytes = 0;      // enter some rank, or leave one
    bool sends_and_receives = false;  // some rank does both with rank_bytes
    std::int64_t node_bytes = 0;      // enter some node, or leave one
    bool leaves = false;              // they leave one
    std::int64_t combined_bytes = 0;  // by some rank
};
// Nothing: there are no bounds. All is 0 if there is nothing to do.
std::optional<LeastWork> least_work(const GlobalArgs& agreed, Rank ranks_per_node) {
    const CollectiveSpec& spec = algorithm::spec_of(agreed.collective);
    if (spec.sizes != algorithm::Sizes::uniform || spec.is_among_neighbors()) return std::nullopt;
    LeastWork work;
    if (agreed.ranks == 1 || (spec.has_data() && agreed.bytes == 0)) return work;
    work.spreads = !spec.has_data() || spec.recv.others != Blocks::none;
    work.collects = !spec.has_data() || spec.send.others != Blocks::none;
    work.leaves = spec.recv.root != Blocks::all || spec.recv.others != Blocks::none;
    work.sends_and_receives = spec.collective == Collective::allreduce ||
                              spec.send.others == Blocks::all || spec.recv.others == Blocks::all;
    if (spec.has_data()) {
        work.rank_bytes = bytes_of_busiest(spec, agreed, 1);
        work.node_bytes = bytes_of_busiest(spec, agreed, ranks_per_node);
    }
    work.combined_bytes = combined_by_busiest(spec, agreed);
    return work;
}

// What a byte takes at least where bytes take `byte_ps`, but for the first one of every message,
// and messages `message_ps` beside that.
std::int64_t least_byte_ps(std::int64_t byte_ps, std::int64_t message_ps) {
    const std::int64_t both_ps = plus(byte_ps, message_ps);
    return both_ps == 0 ? 0 : times(byte_ps, message_ps) / both_ps;
}

// How a rank that has an item sends it on: to so many ranks at a time, which have it `way_ps`
// later; to the next ones `again_ps` after them.
struct ItemSender {
    std::int64_t way_ps = 0;
    std::int64_t again_ps = 0;
    Rank at_a_time = 1;
};

// How long it takes until so many ranks have an item, if each sends it on in all these ways as soon
// and as often as it can. The other way round, until one rank has something of all others.
//
// Richard Karp, Abhijit Sahay, Eunice Santos, Klaus Schauser: Optimal Broadcast and Summation in
// the LogP Model, 1993
std::int64_t least_time_to_all(Rank ranks, std::span<const ItemSender> senders) {
    // When ranks that have the item have sent it to the next ones, by sender, and how many these
    // ranks are.
    std::map<std::pair<std::int64_t, std::size_t>, std::int64_t> sent;
    const auto begin = [&](std::int64_t now_ps, std::int64_t by) {
        for (std::size_t i = 0; i < senders.size(); ++i)
            sent[{plus(now_ps, senders[i].way_ps), i}] += by;
    };
    begin(0, 1);
    std::int64_t now_ps = 0;
    for (std::int64_t informed = 1; informed < ranks;) {
        const auto [at, by] = *sent.begin();
        sent.erase(sent.begin());
        now_ps = at.first;
        const std::int64_t more = times(by, senders[at.second].at_a_time);
        informed += more;
        sent[{plus(now_ps, senders[at.second].again_ps), at.second}] += by;
        begin(now_ps, more);
    }
    return now_ps;
}

// Of messages of one byte, between nodes or within them: these take least.
struct Path {
    std::int64_t latency_ps = 0;  // a link included
    std::int64_t send_ps = 0;     // of a CPU
    std::int64_t recv_ps = 0;
    std::int64_t gap_ps = 0;
    bool may_use_card = false;
};

class Bound {
  public:
    Bound(const GlobalArgs& agreed, const LeastWork& work, const Surroundings& in)
        : agreed_(agreed),
          work_(work),
          in_(in),
          per_node_(in.nodes ? in.nodes->ranks_per_node : 1),
          nodes_(agreed.ranks / per_node_),
          has_card_(in.progress.by == Progress::By::offload) {
        if (nodes_ > 1) ways_.push_back(between());
        if (per_node_ > 1) ways_.push_back(within());
    }

    std::int64_t ps() const {
        return std::max({items_ps(ways_, agreed_.ranks, 1), of_nodes_ps(), of_cpus_ps(),
                         times(work_.combined_bytes, in_.parameters.byte_reduction_ps),
                         in_.progress.compute_ps});
    }

  private:
    Path between() const {
        const LogGpParameters& p = in_.parameters;
        return {plus(p.latency_ps, in_.torus ? in_.torus->hop_ps : 0), p.overhead_ps,
                in_.ends.recv_overhead_ps.value_or(p.overhead_ps), p.gap_ps, has_card_};
    }
    Path within() const {
        const LogGpParameters& p = in_.nodes->inside;
        return {p.latency_ps, p.overhead_ps, p.overhead_ps, p.gap_ps,
                has_card_ && in_.nodes->has_card_inside};
    }

    std::int64_t end_ps(const Path& way, std::int64_t cpu_ps) const {
        return way.may_use_card ? std::min(cpu_ps, in_.progress.trigger_ps) : cpu_ps;
    }
    std::int64_t way_ps(const Path& way) const {
        return plus(way.latency_ps, plus(end_ps(way, way.send_ps), end_ps(way, way.recv_ps)));
    }

    // A rank's CPU, and its card. Each of them takes one message after another; so do the
    // interfaces, of which there is another within the node.
    std::vector<ItemSender> senders(const std::vector<Path>& ways, std::int64_t Path::*cpu_ps,
                                    Rank at_a_time) const {
        ItemSender cpu{time_max_ps, time_max_ps, at_a_time};
        bool has_card = false;
        for (const Path& way : ways) {
            cpu.way_ps = std::min(cpu.way_ps, way_ps(way));
            cpu.again_ps = std::min(cpu.again_ps, way.*cpu_ps);
            has_card |= way.may_use_card;
        }
        ItemSender card = cpu;
        card.again_ps = in_.progress.trigger_ps;
        const std::int64_t gap_ps = ways.size() == 1 ? ways[0].gap_ps : 0;
        cpu.again_ps = std::max(cpu.again_ps, gap_ps);
        card.again_ps = std::max(card.again_ps, gap_ps);
        return has_card ? std::vector{cpu, card} : std::vector{cpu};
    }

    // An item comes from one rank to all, or something of all to one, which is the same backwards.
    std::int64_t items_ps(const std::vector<Path>& ways, Rank number, Rank at_a_time) const {
        std::int64_t items_ps = 0;
        for (const auto& [has, cpu_ps] :
             {std::pair{work_.spreads, &Path::send_ps}, {work_.collects, &Path::recv_ps}}) {
            if (has)
                items_ps =
                    std::max(items_ps, least_time_to_all(number, senders(ways, cpu_ps, at_a_time)));
        }
        return items_ps;
    }

    // Between two messages of a rank, on average.
    std::int64_t message_ps(std::int64_t Path::*cpu_ps) const {
        const std::vector<ItemSender> all = senders({ways_[0]}, cpu_ps, 1);
        return all.size() == 1 ? all[0].again_ps : least_byte_ps(all[0].again_ps, all[1].again_ps);
    }

    // Items, if within a node everything is known at once, and bytes that leave a node or enter it.
    // Of n messages of a rank, the last one begins n - 1 times message_ps() after the start, or
    // later; their first bytes take nothing, all others the time of the link or the interface. The
    // time is least where both take as long.
    std::int64_t of_nodes_ps() const {
        const bool is_flat = nodes_ == 1 || (!in_.torus && !in_.nodes);
        const Rank sharers = is_flat ? 1 : per_node_;
        const LogGpParameters& p = nodes_ == 1 && in_.nodes ? in_.nodes->inside : in_.parameters;
        const std::int64_t send_ps = message_ps(&Path::send_ps) / sharers;
        const std::int64_t any_ps = std::min(send_ps, message_ps(&Path::recv_ps) / sharers);
        const std::int64_t free_bytes = (has_card_ ? 2 : 1) * sharers;
        const std::int64_t bytes = std::max<std::int64_t>(work_.node_bytes - free_bytes, 0);
        const std::int64_t start_ps = way_ps(ways_[0]);
        const auto bytes_ps = [&](std::int64_t number, std::int64_t byte_ps,
                                  std::int64_t message_ps) {
            return number <= 0 ? 0
                               : plus(start_ps, times(number, least_byte_ps(byte_ps, message_ps)));
        };
        if (is_flat) return bytes_ps(bytes, p.byte_gap_ps, any_ps);
        std::int64_t most_ps = items_ps({ways_[0]}, nodes_, per_node_);
        if (in_.torus) {
            // All of a node's ranks share its interface, and its links, one for each dimension.
            const auto dimensions =
                std::ranges::count_if(in_.torus->torus.sizes(), [](Rank k) { return k > 1; });
            const std::int64_t byte_ps =
                std::max(p.byte_gap_ps, in_.torus->link_byte_ps / dimensions);
            most_ps = std::max(most_ps, bytes_ps(bytes, byte_ps, any_ps));
            if (agreed_.collective == Collective::alltoall) {
                for (const Rank size : in_.torus->torus.sizes())
                    most_ps = std::max(most_ps, crossing_ps(size, send_ps, free_bytes, bytes_ps));
            }
            return most_ps;
        }
        // As many bytes as a burst may pass before.
        most_ps = std::max(
            most_ps, bytes_ps(bytes - in_.nodes->burst_bytes, in_.nodes->link_byte_ps, any_ps));
        // A rank of the node sends as many bytes as the others of it, or more.
        if (work_.leaves)
            most_ps = std::max(most_ps, bytes_ps(bytes, p.byte_gap_ps / sharers, send_ps));
        return most_ps;
    }

    // All blocks of an alltoall over the links of a dimension, on average N(k-1)/2 for each pair of
    // ranks of two nodes, on any way; a message's first byte takes nothing on up to k-1 of them.
    template <class BytesPs>
    std::int64_t crossing_ps(Rank size, std::int64_t message_ps, std::int64_t free_bytes,
                             BytesPs bytes_ps) const {
        if (size == 1) return 0;
        const std::int64_t steps = size - 1;
        const std::int64_t blocks = times(times(nodes_, per_node_), times(per_node_, steps));
        return bytes_ps(times(blocks, agreed_.bytes) / 2 - steps * free_bytes,
                        in_.torus->link_byte_ps, message_ps / steps);
    }

    // Of the bytes through one CPU and one interface, with no card, as in a flat network whose
    // parameters are the least of each; where there are others than its interfaces, without these.
    std::int64_t of_cpus_ps() const {
        if (has_card_) return 0;
        LogGpParameters least = in_.parameters;
        if (nodes_ == 1 && in_.nodes) {
            least = in_.nodes->inside;
        } else {
            least.overhead_ps = std::min(ways_[0].send_ps, ways_[0].recv_ps);
            least.byte_overhead_ps =
                std::min(least.byte_overhead_ps,
                         in_.ends.recv_byte_overhead_ps.value_or(least.byte_overhead_ps));
            if (in_.torus || in_.nodes) least.byte_gap_ps = 0;
        }
        if (ways_.size() > 1) {
            const LogGpParameters& inside = in_.nodes->inside;
            least.latency_ps = std::min(least.latency_ps, inside.latency_ps);
            least.overhead_ps = std::min(least.overhead_ps, inside.overhead_ps);
            least.byte_overhead_ps = std::min(least.byte_overhead_ps, inside.byte_overhead_ps);
            least.gap_ps = 0;
        }
        if (work_.rank_bytes == 0) return 0;
        // A further message takes g and o, a further byte G and O: no byte takes less than the
        // smaller one.
        const std::int64_t byte_cpu_ps = std::min(least.overhead_ps, least.byte_overhead_ps);
        const std::int64_t byte_ps =
            std::max({std::min(least.gap_ps, least.byte_gap_ps), byte_cpu_ps,
                      least_byte_ps(least.byte_gap_ps, least.overhead_ps)});
        const std::int64_t further_bytes = after_first(work_.rank_bytes);
        const std::int64_t bytes_ps =
            plus(2 * least.overhead_ps + least.latency_ps, times(further_bytes, byte_ps));
        if (!work_.sends_and_receives) return bytes_ps;
        return std::max(bytes_ps,
                        times(2, plus(least.overhead_ps, times(further_bytes, byte_cpu_ps))));
    }

    const GlobalArgs& agreed_;
    const LeastWork& work_;
    const Surroundings& in_;
    const Rank per_node_;
    const Rank nodes_;
    const bool has_card_;
    std::vector<Path> ways_;  // the one between nodes first
};

}  // namespace

std::optional<std::int64_t> lower_bound(const GlobalArgs& agreed, const Surroundings& in) {
    const Rank per_node = in.nodes && in.nodes->nodes > 1 ? in.nodes->ranks_per_node : 1;
    const std::optional<LeastWork> work = least_work(agreed, per_node);
    if (!work) return std::nullopt;
    if (!work->spreads && !work->collects) return in.progress.compute_ps;
    return Bound(agreed, *work, in).ps();
}

}  // namespace weft::simulate
