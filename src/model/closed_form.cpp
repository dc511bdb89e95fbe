#include "model/closed_form.h"

#include <algorithm>

#include "algorithm/catalogue.h"
#include "shape/power.h"

namespace weft::model {
namespace {

using algorithm::Algorithm;
using algorithm::Blocks;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;

// What is known of an algorithm's critical path.
struct CriticalPath {
    std::int64_t rounds = 0;
    std::int64_t messages = 0;  // of the rank that sends most
    std::int64_t bytes = 0;     // of all rounds, or of that rank
    std::int64_t combined = 0;  // bytes
    std::int64_t longest = 0;   // bytes of a message, if they are alike

    std::int64_t bytes_after_first() const {
        return std::max<std::int64_t>(bytes - std::max(rounds, messages), 0);
    }
};

// Whether the root gets everything, and others nothing.
bool gathers(const CollectiveSpec& spec) {
    return spec.recv.root == Blocks::all && spec.recv.others == Blocks::none;
}

// Of an allreduce in two parts, only the first combines.
bool combines_in_half(const GlobalArgs& agreed, std::int64_t rounds) {
    return agreed.collective == Collective::allreduce && rounds >= 2 * ceil_log2(agreed.ranks);
}

std::optional<CriticalPath> critical_path(const Algorithm& algorithm, const GlobalArgs& agreed) {
    const CollectiveSpec& spec = algorithm::spec_of(agreed.collective);
    if (spec.sizes != algorithm::Sizes::uniform || spec.is_among_neighbors()) return std::nullopt;
    if (!algorithm.rounds || !algorithm.sent_messages_max || !algorithm.sent_bytes_max)
        return std::nullopt;
    CriticalPath path;
    path.rounds = algorithm.rounds(agreed);
    path.messages = algorithm.sent_messages_max(agreed);
    path.bytes = algorithm.claimed_bytes(agreed);
    if (std::min({path.rounds, path.messages, path.bytes}) < 0) return std::nullopt;
    if (path.messages > 0) path.longest = (path.bytes + path.messages - 1) / path.messages;
    // Others send as much in the rounds in which the one that sends most does not.
    if (path.rounds > path.messages) path.bytes = times(path.rounds, path.longest);
    if (gathers(spec)) {
        path.bytes = times(agreed.ranks - 1, agreed.bytes);
        path.longest = std::max(path.longest, agreed.bytes);
    }
    if (spec.reduces) path.combined = path.bytes / (combines_in_half(agreed, path.rounds) ? 2 : 1);
    return path;
}

// The segments that follow the first one through a pipeline only add what keeps the busiest rank
// busy.
std::int64_t pipelined(const CriticalPath& path, Rank ranks, const LogGpParameters& p,
                       bool are_ends_along) {
    const std::int64_t further = after_first(path.longest);
    const std::int64_t overhead = plus(p.overhead_ps, times(further, p.byte_overhead_ps));
    const std::int64_t gap = plus(p.gap_ps, times(further, p.byte_gap_ps));
    const std::int64_t ends = are_ends_along ? p.overhead_ps : overhead;
    const std::int64_t whole =
        plus(plus(ends, ends), plus(p.latency_ps, times(further, p.byte_gap_ps)));
    const std::int64_t later = path.messages - 1;
    const std::int64_t busy =
        ranks == 2 ? overhead : plus(overhead, overhead);  // the others also receive
    return plus(times(path.rounds - later, whole), times(later, std::max(busy, gap)));
}

ModelTime time_of(const CriticalPath& path, const Algorithm& algorithm, const GlobalArgs& agreed,
                  const LogGpParameters& p, bool are_ends_along) {
    const std::int64_t further = path.bytes_after_first();
    const bool is_pipeline = algorithm.tunes == algorithm::Tunes::segments && path.messages > 1 &&
                             (path.rounds > path.messages || agreed.ranks == 2);
    ModelTime time;
    const std::int64_t bytes_cpu_ps = times(further, 2 * p.byte_overhead_ps);
    const std::int64_t others_cpu_ps =
        plus(times(path.rounds, 2 * p.overhead_ps), times(path.combined, p.byte_reduction_ps));
    time.cpu_ps = plus(others_cpu_ps, bytes_cpu_ps);
    time.time_ps = plus(are_ends_along ? others_cpu_ps : time.cpu_ps,
                        plus(times(path.rounds, p.latency_ps), times(further, p.byte_gap_ps)));
    if (is_pipeline) time.time_ps = pipelined(path, agreed.ranks, p, are_ends_along);
    if (path.longest > p.eager_bytes_max) {
        time.cpu_ps = plus(time.cpu_ps, times(path.rounds, 2 * p.overhead_ps));
        time.time_ps = plus(time.time_ps, times(path.rounds, 2 * (p.overhead_ps + p.latency_ps)));
    }
    return time;
}

}  // namespace

std::optional<ModelTime> closed_form(const Algorithm& algorithm, const GlobalArgs& agreed,
                                     const LogGpParameters& p) {
    const std::optional<CriticalPath> path = critical_path(algorithm, agreed);
    if (!path) return std::nullopt;
    return time_of(*path, algorithm, agreed, p, false);
}

std::optional<ModelTime> closed_form(const Algorithm& algorithm, const GlobalArgs& agreed,
                                     const MeasuredParameters& p) {
    const std::optional<CriticalPath> path = critical_path(algorithm, agreed);
    if (!path) return std::nullopt;
    const auto& messages = p.messages_of(path->longest);
    return time_of(*path, algorithm, agreed, messages.parameters, messages.are_ends_along);
}

}  // namespace weft::model
